"""What the environment may say, and how it is told what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from kimibot.errors import BadSettings
from kimibot.settings import Settings, has_kimi_key, load_database_url, load_of_kimi, unused_key

COMPLETE = {
    "SLACK_BOT_TOKEN": "xoxb-fake",
    "SLACK_APP_TOKEN": "xapp-fake",
    "KIMI_API_KEY": "fake-key",
}
SECONDS = "a number of seconds above 0 and up to 86400"


def lines_of(**changes: str) -> list[str]:
    """What is said of a complete environment with these changes."""
    with pytest.raises(BadSettings) as caught:
        Settings.load(COMPLETE | changes)
    return caught.value.lines


def load(**changes: str) -> Settings:
    return Settings.load(COMPLETE | changes)


def test_two_tokens_and_a_key_are_enough() -> None:
    settings = load()

    assert settings.socket_mode
    assert settings.kimi_base_url == "https://api.acedata.cloud/kimi"
    assert settings.kimi_model == "kimi-k3"
    assert settings.slack_api_url == "https://slack.com/api/"
    assert settings.database_url.get_secret_value() == "sqlite:///kimibot.db"
    assert (settings.host, settings.port) == ("127.0.0.1", 3000)
    assert settings.warnings == ()


def test_without_an_app_token_requests_come_over_http() -> None:
    settings = load(SLACK_APP_TOKEN="", SLACK_SIGNING_SECRET="fake-signing")

    assert not settings.socket_mode


def test_everything_that_is_missing_is_named_at_once() -> None:
    with pytest.raises(BadSettings) as caught:
        Settings.load({})

    assert caught.value.lines == [
        "SLACK_BOT_TOKEN is missing: set the bot token (xoxb-…) of your Slack app",
        "KIMI_API_KEY is missing: set the key of your Kimi provider (or ACEDATACLOUD_API_KEY)",
        "SLACK_APP_TOKEN is missing: set it (xapp-…) for Socket Mode, "
        "or SLACK_SIGNING_SECRET for HTTP",
    ]


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("PORT", "http", "PORT should be a whole number from 0 to 65535"),
        ("PORT", "70000", "PORT should be a whole number from 0 to 65535"),
        ("KIMI_CONCURRENCY", "0", "KIMI_CONCURRENCY should be a whole number from 1 to 1000"),
        (
            "KIMIBOT_DAILY_TOKENS_PER_PERSON",
            "lots",
            "KIMIBOT_DAILY_TOKENS_PER_PERSON should be a whole number from 1 to 1000000000000",
        ),
        ("KIMIBOT_GITHUB_POST", "maybe", "KIMIBOT_GITHUB_POST should be 1 or 0"),
        ("KIMI_IDLE_TIMEOUT", "nan", f"KIMI_IDLE_TIMEOUT should be {SECONDS}"),
        ("KIMI_IDLE_TIMEOUT", "0", f"KIMI_IDLE_TIMEOUT should be {SECONDS}"),
        ("KIMI_IDLE_TIMEOUT", "5m", f"KIMI_IDLE_TIMEOUT should be {SECONDS}"),
        (
            "KIMIBOT_DRAIN_SECONDS",
            "-1",
            "KIMIBOT_DRAIN_SECONDS should be a number of seconds from 0 to 3600",
        ),
        ("LOG_FORMAT", "xml", "LOG_FORMAT should be 'text' or 'json'"),
        ("KIMIBOT_FOLLOW_UPS", "yes", "KIMIBOT_FOLLOW_UPS should be 'auto', 'always' or 'mention'"),
        (
            "KIMI_BASE_URL",
            "kimi.example.com",
            "KIMI_BASE_URL should be an address that begins with http:// or https://",
        ),
        (
            "SLACK_API_URL",
            "http://[::1",
            "SLACK_API_URL should be an address that begins with http:// or https://",
        ),
    ],
)
def test_a_wrong_value_is_named_with_what_was_expected_and_found(
    name: str, value: str, line: str
) -> None:
    (said,) = lines_of(**{name: value})

    assert said.lower() == f"{line}, found {value!r}".lower()


def test_an_unknown_provider_is_told_which_there_are() -> None:
    line = lines_of(KIMI_PROVIDER="openai", KIMI_BASE_URL="https://x.example", KIMI_MODEL="m")[0]

    assert line.startswith("KIMI_PROVIDER should be one of acedata, ")
    assert line.endswith(", found 'openai'")


def test_two_swapped_tokens_are_told_where_they_belong() -> None:
    assert lines_of(SLACK_BOT_TOKEN="xapp-fake", SLACK_APP_TOKEN="xoxb-fake") == [
        "SLACK_BOT_TOKEN should begin with xoxb-, "
        "found an app-level token: it belongs in SLACK_APP_TOKEN",
        "SLACK_APP_TOKEN should begin with xapp-, found a bot token: it belongs in SLACK_BOT_TOKEN",
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SLACK_BOT_TOKEN", "hunter2"),
        ("SLACK_BOT_TOKEN", "xoxp-hunter2"),
        ("SLACK_BOT_TOKEN", "xoxe.xoxb-1-hunter2"),
        ("SLACK_BOT_TOKEN", "xoxb-hunter2 and more"),
        ("SLACK_APP_TOKEN", '"xapp-hunter2"'),
        ("SLACK_APP_TOKEN", "xapp-hunter2…"),
        ("SLACK_SIGNING_SECRET", "xoxb-hunter2"),
        ("SLACK_SIGNING_SECRET", "hunter2 hunter2"),
        ("KIMI_API_KEY", "Bearer hunter2 hunter2"),
        ("KIMI_API_KEY", "Bearer"),
        ("KIMI_API_KEY", "xoxc-hunter2"),
        ("KIMI_BASE_URL", "https://me:hunter2@kimi.example.com"),
        ("DATABASE_URL", "mysql://me:hunter2@db/kimibot"),
        ("DATABASE_URL", "hunter2"),
    ],
)
def test_a_wrong_secret_is_named_but_never_shown(name: str, value: str) -> None:
    (line,) = lines_of(**{name: value})

    assert line.startswith(f"{name} should be")
    assert "hunter2" not in line


@pytest.mark.parametrize("name", ["KIMI_API_KEY", "ACEDATACLOUD_API_KEY"])
@pytest.mark.parametrize("scheme", ["", "Bearer "])
def test_a_token_of_slacks_is_never_sent_to_kimi(name: str, scheme: str) -> None:
    assert lines_of(**{"KIMI_API_KEY": "", name: f"{scheme}xoxb-fake-2"}) == [
        f"{name} should be the key of your Kimi provider, "
        "found a bot token: it belongs in SLACK_BOT_TOKEN"
    ]


def test_a_printed_settings_object_shows_no_secret() -> None:
    settings = load(SLACK_SIGNING_SECRET="fake-hunter2", DATABASE_URL="postgresql://a:hunter2@db/k")

    assert "hunter2" not in repr(settings)
    assert "xoxb" not in f"{settings}"


def test_the_log_is_told_every_secret() -> None:
    settings = load(SLACK_SIGNING_SECRET="fake-sign", DATABASE_URL="postgresql://a:h%40ter@db/k")

    assert {"xoxb-fake", "xapp-fake", "fake-sign", "fake-key", "h%40ter", "h@ter"} <= set(
        settings.secrets
    )


@pytest.mark.parametrize("key", ["Bearer fake-key", "bearer  fake-key", " fake-key\n"])
def test_a_key_may_be_pasted_with_its_scheme_and_blanks(key: str) -> None:
    assert load(KIMI_API_KEY=key).kimi_api_key.get_secret_value() == "fake-key"


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("acedata", "ACEDATACLOUD_API_KEY"),
        ("acedata-openai", "ACEDATACLOUD_API_KEY"),
        ("fishapi", "FISHAPI_API_KEY"),
        ("moonshot", "MOONSHOT_API_KEY"),
        ("moonshot-cn", "MOONSHOT_API_KEY"),
        ("bedrock", "AWS_BEARER_TOKEN_BEDROCK"),
    ],
)
def test_a_key_is_also_found_under_the_providers_own_name(provider: str, variable: str) -> None:
    names = {"KIMI_API_KEY": "", "KIMI_PROVIDER": provider, "AWS_REGION": "us-east-1"}

    assert load(**names, **{variable: "fake"}).kimi_api_key.get_secret_value() == "fake"
    assert lines_of(**names) == [
        f"KIMI_API_KEY is missing: set the key of your Kimi provider (or {variable})"
    ]


def test_the_own_name_of_another_provider_is_not_read_but_told() -> None:
    assert lines_of(KIMI_API_KEY="", MOONSHOT_API_KEY="fake") == [
        "KIMI_API_KEY is missing: set the key of your Kimi provider (or ACEDATACLOUD_API_KEY); "
        "MOONSHOT_API_KEY is there: set KIMI_PROVIDER=moonshot to use it"
    ]
    assert unused_key({"KIMI_API_KEY": "fake", "MOONSHOT_API_KEY": "fake"}) == ""


def test_bedrock_is_reached_in_its_region() -> None:
    settings = load(KIMI_PROVIDER="bedrock", AWS_REGION="eu-west-1")

    assert settings.kimi_base_url.startswith("https://bedrock-runtime.eu-west-1.amazonaws.com/")
    assert settings.kimi_model == "moonshotai.kimi-k3"


@pytest.mark.parametrize("region", ["", "evil.example/", "x@evil"])
def test_bedrock_without_a_region_says_what_to_set(region: str) -> None:
    (line,) = lines_of(KIMI_PROVIDER="bedrock", AWS_REGION=region)

    assert line.startswith("KIMI_BASE_URL is missing: set AWS_REGION to a region")


def test_an_endpoint_of_ones_own_needs_its_address() -> None:
    (line,) = lines_of(KIMI_PROVIDER="custom")
    assert line == "KIMI_BASE_URL is missing: KIMI_PROVIDER=custom has none of its own"

    url = "http://127.0.0.1:9000/v1/chat/completions/"
    assert load(KIMI_PROVIDER="custom", KIMI_BASE_URL=url).kimi_base_url == url[:-18]


def test_an_effort_that_the_model_does_not_allow_is_refused() -> None:
    assert load(KIMI_REASONING_EFFORT="max").kimi_reasoning_effort == "max"

    (line,) = lines_of(KIMI_REASONING_EFFORT="low")
    assert line.startswith("KIMI_REASONING_EFFORT")
    assert "max" in line


def test_a_claim_must_outlast_its_renewal_and_a_call() -> None:
    assert lines_of(KIMIBOT_RENEW_SECONDS="12") == [
        "KIMIBOT_LEASE_SECONDS should be more than KIMIBOT_RENEW_SECONDS "
        "and KIMIBOT_SLACK_TIMEOUT_SECONDS together"
    ]
    assert len(lines_of(KIMIBOT_RENEW_SECONDS="often")) == 1


def test_words_are_understood_in_any_case() -> None:
    settings = load(LOG_LEVEL="debug", LOG_FORMAT="JSON", KIMI_PROVIDER="Moonshot")

    assert settings.log_level == "DEBUG"
    assert settings.log_format == "json"
    assert settings.kimi_base_url == "https://api.moonshot.ai/v1"


@pytest.mark.parametrize(("value", "is_on"), [("1", True), ("0", False), ("", False), ("On", True)])
def test_reviews_are_posted_only_where_that_is_switched_on(value: str, is_on: bool) -> None:
    assert load(KIMIBOT_GITHUB_POST=value).github_post is is_on


@pytest.mark.parametrize(
    "left_out", ["KIMIBOT_GITHUB_POST", "GITHUB_TOKEN", "KIMIBOT_GITHUB_REPOS"]
)
def test_reviews_can_be_posted_only_with_a_token_and_repositories(left_out: str) -> None:
    of_github = {
        "KIMIBOT_GITHUB_POST": "1",
        "GITHUB_TOKEN": "fake-token",
        "KIMIBOT_GITHUB_REPOS": "acme/*",
    }

    assert load(**of_github).posts_reviews
    assert not load(**of_github | {left_out: ""}).posts_reviews


def test_the_process_environment_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("PORT=4000\nexport HOST='0.0.0.0'  # everywhere\nKIMI_MODEL=other\n")

    settings = Settings.load(COMPLETE | {"PORT": "5000", "KIMI_MODEL": ""}, file)

    assert (settings.host, settings.port) == ("0.0.0.0", 5000)
    assert settings.kimi_model == "kimi-k3"


def test_a_file_that_is_not_there_is_no_mistake(tmp_path: Path) -> None:
    assert Settings.load(COMPLETE, tmp_path / ".env").port == 3000


def test_instructions_come_as_a_text_or_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "instructions.md"
    file.write_text("Be brief.\n", encoding="utf-8")

    assert load(KIMIBOT_INSTRUCTIONS="Be kind.").instructions == "Be kind."
    assert load(KIMIBOT_INSTRUCTIONS=f"@{file}").instructions == "Be brief."


def test_instructions_from_a_file_that_is_not_there_are_refused(tmp_path: Path) -> None:
    (line,) = lines_of(KIMIBOT_INSTRUCTIONS=f"@{tmp_path}/none.md")

    assert "can't be read: No such file or directory" in line


def test_a_misspelt_name_is_warned_about_with_the_nearest() -> None:
    settings = load(KIMI_MODELL="x", KIMIBOT_FOLLOWUPS="auto", KIMONO="silk")

    assert settings.warnings == (
        "KIMIBOT_FOLLOWUPS is not a setting of this version: did you mean KIMIBOT_FOLLOW_UPS?",
        "KIMI_MODELL is not a setting of this version: did you mean KIMI_MODEL?",
    )


def test_the_database_alone_needs_neither_token_nor_key() -> None:
    assert load_database_url({}).get_secret_value() == "sqlite:///kimibot.db"
    with pytest.raises(BadSettings, match=r"^DATABASE_URL should begin with"):
        load_database_url({"DATABASE_URL": "mysql://db"})


def test_a_demo_gets_what_is_set_for_kimi_and_the_log_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text(
        "MOONSHOT_API_KEY=fake\nKIMIBOT_ALLOWED_USERS=U1\nAWS_REGION=us-east-1\nHOST=h\n"
    )
    env = {"KIMI_PROVIDER": "moonshot", "LOG_LEVEL": "debug", "GITHUB_TOKEN": "t", "HOME": "/"}

    assert load_of_kimi(env, file) == {
        "MOONSHOT_API_KEY": "fake",
        "AWS_REGION": "us-east-1",
        "KIMI_PROVIDER": "moonshot",
        "LOG_LEVEL": "debug",
    }


def test_a_key_is_seen_under_either_name(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("MOONSHOT_API_KEY=fake\n")

    assert has_kimi_key({"KIMI_API_KEY": "fake"})
    assert has_kimi_key({"KIMI_PROVIDER": "moonshot"}, file)
    assert not has_kimi_key({"KIMI_PROVIDER": "fishapi"}, file)


def test_lists_are_separated_by_commas_or_blanks() -> None:
    settings = load(KIMIBOT_ALLOWED_CHANNELS=" C0DEV,direct  D0ANA,", KIMIBOT_ALLOWED_BOTS="A0,B0")

    assert settings.allowed_channels == {"C0DEV", "direct", "D0ANA"}
    assert settings.allowed_bots == {"A0", "B0"}
    assert settings.allowed_users == frozenset()


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("KIMIBOT_ALLOWED_CHANNELS", "C0DEV,#dev", "#dev"),
        ("KIMIBOT_ALLOWED_USERS", "direct", "direct"),
        ("KIMIBOT_ALLOWED_USERS", "U0ANA,@bo", "@bo"),
        ("KIMIBOT_ALLOWED_BOTS", "U0CI", "U0CI"),
    ],
)
def test_a_name_in_a_list_of_ids_is_told(name: str, value: str, wrong: str) -> None:
    [line] = lines_of(**{name: value})

    assert line.startswith(f"{name} should be Slack's ids, such as ")
    assert f"{wrong!r} is none" in line
