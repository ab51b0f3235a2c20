"""The key of a home that signs what is exported, and signatures as a standard container.

A signature is a detached JWS (RFC 7515, 7797) by Ed25519 (RFC 8037) that brings the public key along; what is
signed stays a file of its own, which anybody can read. A key is told by its thumbprint (RFC 7638).
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from jwt.algorithms import OKPAlgorithm
from jwt.api_jws import PyJWS
from jwt.exceptions import PyJWTError

from store.core.errors import StoreError
from store.core.keys import box_of
from store.core.paths import DataDir, only_holder, replace_file

_ALGORITHM = "EdDSA"
_WAIT_S = 10.0


class BadSignature(Exception):
    """A sentence about what is wrong with it."""


def fingerprint(data_dir: DataDir) -> str:
    """The thumbprint of this home's key."""
    return _thumbprint(_public(_key(data_dir)))


def sign(data_dir: DataDir, content: bytes) -> bytes:
    """The signature of `content` by this home's key."""
    key = _key(data_dir)
    public = _public(key)
    headers = {"jwk": public, "kid": _thumbprint(public)}
    return PyJWS().encode(content, key, _ALGORITHM, headers, is_payload_detached=True).encode()


def signer(signature: bytes, content: bytes) -> str:
    """The thumbprint of the key that signed `content`. Raises `BadSignature`."""
    try:
        jws = PyJWS()
        public = jws.get_unverified_header(signature)["jwk"]
        key = OKPAlgorithm.from_jwk(public)
        if not isinstance(key, Ed25519PublicKey):
            raise BadSignature("it brings no Ed25519 public key")
        jws.decode_complete(signature, key, [_ALGORITHM], detached_payload=content)
    except (PyJWTError, KeyError, ValueError, TypeError, RecursionError) as error:
        raise BadSignature(f"{type(error).__name__}: {error}") from error
    # Of the key as it was used, not as it was written: the same one could be written in several ways.
    return _thumbprint(OKPAlgorithm.to_jwk(key, as_dict=True))


def _key(data_dir: DataDir) -> Ed25519PrivateKey:
    """The key of a home, made at the first call. Raises `StoreError` where it cannot be read."""
    path = data_dir.export_key
    with only_holder(path.with_suffix(".lock"), _WAIT_S, "the key of exports is being made elsewhere"):
        box = box_of(data_dir.home)
        if not path.exists():
            pem = Ed25519PrivateKey.generate().private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            replace_file(path, box.seal(path.name, pem))
        try:
            key = serialization.load_pem_private_key(box.open(path.name, path.read_bytes()), None)
        except ValueError as error:
            raise StoreError(f"{path} holds no key; move it away, and the next export makes one") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise StoreError(f"{path} holds a key of another kind; move it away, and the next export makes one")
    return key


def _public(key: Ed25519PrivateKey) -> dict[str, Any]:
    return OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)


def _thumbprint(public: dict[str, Any]) -> str:
    required = json.dumps({name: public[name] for name in ("crv", "kty", "x")}, separators=(",", ":"))
    return base64.urlsafe_b64encode(hashlib.sha256(required.encode()).digest()).rstrip(b"=").decode()
