"""Why an identity provider's answer does not sign in, apart from what checks it: that is slow to import."""

from verdikt.errors import ServiceError


class SignInRefused(ServiceError):
    """An answer of the provider that does not sign in; the message is for the person."""
