"""Every environment variable, typed and checked once, at start."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import unquote

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
)
from pydantic.fields import FieldInfo

from kimibot import checks, complaints, provided
from kimibot.environment import merged, text_of_file
from kimibot.errors import BadSettings
from kimibot.github.access import read_patterns
from kimibot.kimi import providers

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Tokens = Annotated[int, Field(ge=1, le=1_048_576)]
MOST_DAILY_TOKENS = 1_000_000_000_000
UpperCase = BeforeValidator(str.upper)
LowerCase = BeforeValidator(str.lower)
Words = BeforeValidator(lambda value: frozenset(re.split(r"[\s,]+", value)) - {""})


class Settings(BaseModel):
    """What the environment says; `warnings` are mistakes that stop nothing, one line each."""

    model_config = ConfigDict(frozen=True)

    slack_bot_token: SecretStr = Field(alias="SLACK_BOT_TOKEN")
    slack_app_token: SecretStr | None = Field(None, alias="SLACK_APP_TOKEN")
    slack_signing_secret: SecretStr | None = Field(None, alias="SLACK_SIGNING_SECRET")
    slack_api_url: str = Field("https://slack.com/api/", alias="SLACK_API_URL")

    kimi_provider: Annotated[str, LowerCase] = Field(
        provided.DEFAULT_PROVIDER, alias="KIMI_PROVIDER"
    )
    kimi_api_key: SecretStr = Field(alias="KIMI_API_KEY")
    kimi_base_url: str = Field(alias="KIMI_BASE_URL")
    kimi_model: str = Field(alias="KIMI_MODEL")
    kimi_reasoning_effort: Annotated[str, LowerCase] = Field("", alias="KIMI_REASONING_EFFORT")
    kimi_images: Annotated[Literal["auto", "on", "off"], LowerCase] = Field(
        "auto", alias="KIMI_IMAGES"
    )
    kimi_max_completion_tokens: Tokens = Field(32_768, alias="KIMI_MAX_COMPLETION_TOKENS")
    kimi_context_tokens: Tokens = Field(128_000, alias="KIMI_CONTEXT_TOKENS")
    kimi_concurrency: int = Field(64, ge=1, le=1_000, alias="KIMI_CONCURRENCY")
    kimi_max_retries: int = Field(3, ge=0, le=10, alias="KIMI_MAX_RETRIES")
    kimi_connect_timeout_seconds: Seconds = Field(10, alias="KIMI_CONNECT_TIMEOUT")
    kimi_first_event_timeout_seconds: Seconds = Field(300, alias="KIMI_FIRST_EVENT_TIMEOUT")
    kimi_idle_timeout_seconds: Seconds = Field(300, alias="KIMI_IDLE_TIMEOUT")
    kimi_answer_timeout_seconds: Seconds = Field(900, alias="KIMI_ANSWER_TIMEOUT")

    github_token: SecretStr | None = Field(None, alias="GITHUB_TOKEN")
    github_api_url: str = Field("https://api.github.com", alias="GITHUB_API_URL")
    github_repos: Annotated[tuple[str, ...], BeforeValidator(read_patterns)] = Field(
        (), alias="KIMIBOT_GITHUB_REPOS"
    )
    github_post: bool = Field(False, alias="KIMIBOT_GITHUB_POST")

    database_url: SecretStr = Field(SecretStr("sqlite:///kimibot.db"), alias="DATABASE_URL")
    host: str = Field("127.0.0.1", alias="HOST")
    port: int = Field(3000, ge=0, le=65_535, alias="PORT")
    log_level: Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], UpperCase] = (
        Field("INFO", alias="LOG_LEVEL")
    )
    log_format: Annotated[Literal["text", "json"], LowerCase] = Field("text", alias="LOG_FORMAT")

    instructions: str = Field("", alias="KIMIBOT_INSTRUCTIONS")
    follow_ups: Annotated[Literal["auto", "always", "mention"], LowerCase] = Field(
        "auto", alias="KIMIBOT_FOLLOW_UPS"
    )
    daily_tokens_per_person: int | None = Field(
        None, ge=1, le=MOST_DAILY_TOKENS, alias="KIMIBOT_DAILY_TOKENS_PER_PERSON"
    )
    daily_tokens_per_workspace: int | None = Field(
        None, ge=1, le=MOST_DAILY_TOKENS, alias="KIMIBOT_DAILY_TOKENS_PER_WORKSPACE"
    )
    show_reasoning: Annotated[Literal["off", "ask"], LowerCase] = Field(
        "off", alias="KIMIBOT_SHOW_REASONING"
    )
    allowed_channels: Annotated[frozenset[str], Words] = Field(
        frozenset(), alias="KIMIBOT_ALLOWED_CHANNELS"
    )
    allowed_users: Annotated[frozenset[str], Words] = Field(
        frozenset(), alias="KIMIBOT_ALLOWED_USERS"
    )
    allowed_bots: Annotated[frozenset[str], Words] = Field(
        frozenset(), alias="KIMIBOT_ALLOWED_BOTS"
    )
    external_people: Annotated[Literal["on", "off"], LowerCase] = Field(
        "off", alias="KIMIBOT_EXTERNAL_PEOPLE"
    )
    retention_days: int = Field(90, ge=0, le=36_500, alias="KIMIBOT_RETENTION_DAYS")
    drain_seconds: float = Field(25, ge=0, le=3_600, alias="KIMIBOT_DRAIN_SECONDS")
    max_ask_age_seconds: Seconds = Field(1_800, alias="KIMIBOT_MAX_ASK_AGE")
    lease_seconds: Seconds = Field(20, alias="KIMIBOT_LEASE_SECONDS")
    renew_seconds: Seconds = Field(5, alias="KIMIBOT_RENEW_SECONDS")
    sweep_seconds: Seconds = Field(2, alias="KIMIBOT_SWEEP_SECONDS")
    ping_seconds: Seconds = Field(10, alias="KIMIBOT_PING_SECONDS")
    slack_timeout_seconds: Seconds = Field(8, alias="KIMIBOT_SLACK_TIMEOUT_SECONDS")

    warnings: tuple[str, ...] = ()

    @classmethod
    def load(cls, env: Mapping[str, str], dotenv_path: Path | None = None) -> Self:
        """Read the settings from `env` and, below it, from the `.env` file, if there is one.

        An empty value counts as none, also where it stands above one of the file.
        Raises BadSettings with a line for each setting that is missing or wrong, and with the
        warnings; no line shows a secret.
        """
        values = provided.with_defaults(merged(env, dotenv_path))
        warnings = tuple(complaints.warnings(values, variables()))
        lines = list(complaints.lines_across(values, _fields()))
        try:
            settings = cls.model_validate(values)
        except ValidationError as error:
            lines = [
                complaints.line(details, values, _fields()) for details in error.errors()
            ] + lines
        if lines:
            raise BadSettings(lines, warnings)
        return settings.model_copy(update={"warnings": warnings})

    @property
    def socket_mode(self) -> bool:
        """Events come over Slack's socket; otherwise as signed HTTP requests."""
        return self.slack_app_token is not None

    @property
    def posts_reviews(self) -> bool:
        """Whether there is a repository to which a review can be posted."""
        return self.github_post and self.github_token is not None and bool(self.github_repos)

    @property
    def takes_images(self) -> bool:
        """Whether the model gets to see pictures."""
        if self.kimi_images == "auto":
            return providers.takes_images(self.kimi_model)
        return self.kimi_images == "on"

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that no log line may show."""
        fields = [value for _, value in self if isinstance(value, SecretStr)]
        found = re.search(r"://[^:/@]*:([^@]*)@", self.database_url.get_secret_value())
        password = found[1] if found else ""
        return (*(secret.get_secret_value() for secret in fields), password, unquote(password))

    @field_validator("slack_bot_token")
    @classmethod
    def _check_bot_token(cls, token: SecretStr) -> SecretStr:
        return checks.slack_token(token, "xoxb-")

    @field_validator("slack_app_token")
    @classmethod
    def _check_app_token(cls, token: SecretStr) -> SecretStr:
        return checks.slack_token(token, "xapp-")

    @field_validator("slack_signing_secret")
    @classmethod
    def _check_signing_secret(cls, secret: SecretStr) -> SecretStr:
        return checks.no_slack_token(secret, "the app's signing secret")

    @field_validator("kimi_api_key")
    @classmethod
    def _check_key(cls, key: SecretStr) -> SecretStr:
        """Keys are often pasted together with the scheme of the header.

        A token of Slack's would be sent to whoever serves Kimi.
        """
        bare = re.sub(r"^bearer(\s+|$)", "", key.get_secret_value(), flags=re.IGNORECASE)
        return checks.no_slack_token(SecretStr(bare), "the key of your Kimi provider")

    @field_validator("slack_api_url")
    @classmethod
    def _check_slack_url(cls, url: str) -> str:
        return checks.http_url(url) + "/"

    @field_validator("kimi_base_url")
    @classmethod
    def _check_kimi_url(cls, url: str) -> str:
        return checks.http_url(url).removesuffix("/chat/completions")

    @field_validator("github_token")
    @classmethod
    def _check_github_token(cls, token: SecretStr) -> SecretStr:
        return checks.no_slack_token(token, "a token of GitHub's")

    @field_validator("github_api_url")
    @classmethod
    def _check_github_url(cls, url: str) -> str:
        return checks.http_url(url)

    @field_validator("database_url")
    @classmethod
    def _check_database_url(cls, url: SecretStr) -> SecretStr:
        return checks.database_url(url)

    @field_validator("allowed_channels")
    @classmethod
    def _check_channels(cls, ids: frozenset[str]) -> frozenset[str]:
        return checks.slack_ids(ids, "CGD", "C0123ABCD or direct", words=("direct",))

    @field_validator("allowed_users")
    @classmethod
    def _check_users(cls, ids: frozenset[str]) -> frozenset[str]:
        return checks.slack_ids(ids, "UW", "U0123ABCD")

    @field_validator("allowed_bots")
    @classmethod
    def _check_bots(cls, ids: frozenset[str]) -> frozenset[str]:
        return checks.slack_ids(ids, "AB", "B0123ABCD or A0123ABCD")

    @field_validator("instructions")
    @classmethod
    def _read_instructions(cls, text: str) -> str:
        if not text.startswith("@"):
            return text
        try:
            return text_of_file(Path(text[1:])).strip()
        except ValueError as error:
            raise ValueError(f"names a file that {error}") from error


def variables() -> set[str]:
    """The names of all environment variables that are read."""
    return set(_fields()) | _of_providers()


def load_of_kimi(env: Mapping[str, str], dotenv_path: Path | None = None) -> dict[str, str]:
    """What is set for Kimi, misspelt or not, and LOG_LEVEL, for a demo. Raises BadSettings."""
    names = _of_providers() | {"LOG_LEVEL"}
    values = merged(env, dotenv_path).items()
    return {name: value for name, value in values if name.startswith("KIMI_") or name in names}


def load_database_url(env: Mapping[str, str], dotenv_path: Path | None = None) -> SecretStr:
    """DATABASE_URL alone, for a command that needs neither tokens nor key. Raises BadSettings."""
    url = merged(env, dotenv_path).get("DATABASE_URL", "sqlite:///kimibot.db")
    try:
        return checks.database_url(SecretStr(url))
    except ValueError as error:
        raise BadSettings([f"DATABASE_URL {error}"]) from None


def has_kimi_key(env: Mapping[str, str], dotenv_path: Path | None = None) -> bool:
    """Whether there is a key for the provider, under either name. Raises BadSettings."""
    return "KIMI_API_KEY" in provided.with_defaults(merged(env, dotenv_path))


def unused_key(env: Mapping[str, str], dotenv_path: Path | None = None) -> str:
    """What to set for the key of a provider that is not the chosen one, or "". Raises BadSettings.

    Such as "MOONSHOT_API_KEY is there: set KIMI_PROVIDER=moonshot to use it".
    """
    return provided.unused_key(provided.with_defaults(merged(env, dotenv_path)))


def _of_providers() -> set[str]:
    keys = {provider.key_variable for provider in providers.PROVIDERS.values()}
    return (keys | {"AWS_REGION"}) - {""}


def _fields() -> dict[str, FieldInfo]:
    return {field.alias: field for field in Settings.model_fields.values() if field.alias}
