"""Certificates for tests, made at run time with the openssl command.

    authority = Authority(folder, "ed25519")
    server = authority.issue("server", dns="ank-server")
    command = [peer, "serve", *server.options()]
"""

import dataclasses
import pathlib
import subprocess

KINDS = {
    "ed25519": ["-algorithm", "ED25519"],
    "ecdsa": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
    "rsa": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
}


@dataclasses.dataclass(frozen=True)
class Identity:
    """Whom to trust and what to show."""

    ca: pathlib.Path
    cert: pathlib.Path
    key: pathlib.Path

    def options(self):
        return ["--ca", str(self.ca), "--cert", str(self.cert), "--key", str(self.key)]


def openssl(*arguments):
    run = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if run.returncode:
        raise RuntimeError(f"openssl {' '.join(map(str, arguments))}: {run.stderr}")


class Authority:
    """A CA of its own folder; version 1 is what the plain recipe of the openssl command makes."""

    def __init__(self, folder, kind="ecdsa", version=3):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.kind = kind
        self.config = self._write("openssl.cnf", "[req]\ndistinguished_name = name\n[name]\n")
        extensions = "basicConstraints = critical, CA:TRUE\nkeyUsage = critical, keyCertSign, cRLSign\nsubjectKeyIdentifier = hash\n"
        key, request = self._request("ca")
        self.key, self.cert = key, self.folder / "ca.pem"
        self._sign(request, self.cert, ["-signkey", key], extensions if version == 3 else "", days=2)

    def issue(self, name, dns="", expired=False, raw_names=None):
        """An identity for either end of a connection; without dns it has no SAN. raw_names are the bytes of a SAN that is none."""
        key, request = self._request(name)
        certificate = self.folder / f"{name}.pem"
        extensions = "basicConstraints = CA:FALSE\nkeyUsage = digitalSignature\nextendedKeyUsage = serverAuth, clientAuth\n"
        if dns:
            extensions += f"subjectAltName = DNS:{dns}\n"
        if raw_names is not None:
            extensions += f"2.5.29.17 = {raw_names}\n"
        signer = ["-CA", self.cert, "-CAkey", self.key, "-CAcreateserial"]
        self._sign(request, certificate, signer, extensions, days=-1 if expired else 2)
        return Identity(self.cert, certificate, key)

    def _write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def _request(self, name):
        key, request = self.folder / f"{name}.key", self.folder / f"{name}.csr"
        openssl("genpkey", *KINDS[self.kind], "-out", key)
        key.chmod(0o600)
        openssl("req", "-new", "-config", self.config, "-key", key, "-subj", f"/CN={name}", "-out", request)
        return key, request

    def _sign(self, request, certificate, signer, extensions, days):
        chosen = ["-extfile", self._write(f"{certificate.stem}.ext", extensions)] if extensions else []
        openssl("x509", "-req", "-in", request, *signer, *chosen, "-days", days, "-out", certificate)
        certificate.chmod(0o644)


class Cluster:
    """What the parts of a cluster use, all with one kind of key, and what must be refused."""

    def __init__(self, folder, kind="ecdsa"):
        folder = pathlib.Path(folder)
        self.authority = Authority(folder / "good", kind)
        self.server = self.authority.issue("server", dns="ank-server")
        self.agent = self.authority.issue("agent", dns="agent_A")
        self.cli = self.authority.issue("cli", dns="ank")
        self.expired = self.authority.issue("expired", dns="agent_A", expired=True)
        self.nameless = self.authority.issue("nameless")
        stranger = Authority(folder / "foreign", kind).issue("foreign", dns="agent_A")
        # Trusts whom the others trust, so that it is only its own certificate that is refused.
        self.foreign = dataclasses.replace(stranger, ca=self.authority.cert)
        self.first_version = Authority(folder / "first-version", kind, version=1)
