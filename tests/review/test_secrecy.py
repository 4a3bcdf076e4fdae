"""What may hold keys is never read; code is, whatever it is called."""

from __future__ import annotations

import pytest

from kimibot.review.secrecy import may_hold_keys


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "app/.env.production",
        "app/.ENV.local",
        "prod.env",
        ".env.d/a.txt",
        "deploy/id_rsa",
        "deploy/id_rsa.pub",
        "id_ed25519",
        "tls/server.key",
        "tls/Server.PEM",
        "tls/cert.p12",
        "tls/cert.pfx",
        "credentials",
        "config/credentials.yml.enc",
        "config/credentials.json",
        "secrets.toml",
        "my-service-account-prod.json",
        "client_secret_123.json",
        ".npmrc",
        "home/.aws/config",
        ".ssh/config",
        ".git/config",
        "infra/terraform.tfstate",
        "infra/prod.tfvars",
        ".htpasswd",
    ],
)
def test_what_may_hold_keys_is_known_by_its_name(path: str) -> None:
    assert may_hold_keys(path)


@pytest.mark.parametrize(
    "path",
    [
        "src/a.py",
        "src/credentials.py",
        "src/secrets.go",
        "environment.py",
        "src/env.ts",
        "keys/keyboard.py",
        "README.md",
        "docs/secret-santa.md",
        ".github/workflows/ci.yml",
        ".",
        "src",
    ],
)
def test_code_and_words_may_be_read(path: str) -> None:
    assert not may_hold_keys(path)
