"""Pure: which files of a repository are never read, since they may hold keys."""

from __future__ import annotations

from fnmatch import fnmatchcase

_NAMES = (
    ".env*", "*.env", ".envrc", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.key", "*.pem",
    "*.p8", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore", "*.kdbx", "*.gpg", "*.asc", "*.age",
    ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd", ".dockercfg",
    ".git-credentials", "kubeconfig*", "*.kubeconfig", "*.tfstate*", "*.tfvars*", ".vault*",
    "credentials", "*credentials*.json", "*service?account*.json", "*client?secret*.json",
)  # fmt: skip
_STEMS = ("credential", "credentials", "secret", "secrets", "passwords")
_DATA = frozenset("json yaml yml toml ini cfg conf properties xml csv txt enc dec plist".split())  # noqa: SIM905
_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".kube", ".docker", ".git", ".azure", ".gcloud"})


def may_hold_keys(path: str) -> bool:
    """Whether the name of a file, or of a folder above it, says that there may be keys in it.

    A file of code that is called so is code.
    """
    *folders, name = path.lower().split("/")
    if _FOLDERS & {*folders, name} or any(one.startswith(".env") for one in folders):
        return True
    stem, _, ending = name.lstrip(".").partition(".")
    is_data = stem in _STEMS and ending.rpartition(".")[2] in _DATA
    return is_data or any(fnmatchcase(name, pattern) for pattern in _NAMES)
