"""A dry run, asked by a gRPC that is not ours: what an update would do, with nothing done, plain and with certificates.

    $(tools/setup --python) tools/run-unittests -k 'DryRun.*' tests/system
"""

import unittest

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

import harness
from harness import certificates, workload

METHOD = "/tiphys_ext.Planner/DryRunUpdate"


def message(name):
    """One of our messages, as the build describes it."""
    files = descriptor_pb2.FileDescriptorSet.FromString((harness.PROGRAMS.parent / "proto/tiphys.descriptors").read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"tiphys_ext.{name}"))


class DryRun(harness.Case):
    def asked(self, channel, masks, **workloads):
        """Fate and reasons by the name of the workload; or the error."""
        request = message("DryRunUpdateRequest")()
        request.update.updateMask.extend(masks)
        request.update.newState.desiredState.apiVersion = "v1"
        for name, (agent, config) in workloads.items():
            wanted = request.update.newState.desiredState.workloads.workloads[name]
            wanted.agent, wanted.runtime, wanted.runtimeConfig = agent, "podman", config
        ask = channel.unary_unary(METHOD, request_serializer=lambda each: each.SerializeToString(),
                                  response_deserializer=message("DryRunUpdateResponse").FromString)
        response = ask(request, timeout=harness.SECONDS)
        if response.HasField("error"):
            return response.error.message
        fates = response.plan.workloads[0].DESCRIPTOR.fields_by_name["fate"].enum_type.values_by_number if response.plan.workloads else {}
        return {each.name: (fates[each.fate].name, *each.reasons) for each in response.plan.workloads}

    def plans(self, server, channel):
        self.apply(server, {"web": workload("nobody"), "db": workload("nobody")})
        before = self.state(server, "desiredState", "workloadStates", "effectiveState")
        config = before["desiredState"]["workloads"]["web"]["runtimeConfig"]
        self.assertEqual(
            self.asked(channel, ["desiredState.workloads"], web=("somebody", config), api=("nobody", "image: x")),
            {"web": ("FATE_REPLACED", "agent changes from 'nobody' to 'somebody'"), "db": ("FATE_DELETED",), "api": ("FATE_CREATED",)})
        self.assertEqual(self.asked(channel, ["desiredState.workloads.web"], web=("nobody", config)), {"web": ("FATE_UNCHANGED",)})
        self.assertIn("Unsupported workload name 'a b'", self.asked(channel, ["desiredState.workloads.a b"], **{"a b": ("nobody", "x")}))
        self.assertEqual(self.state(server, "desiredState", "workloadStates", "effectiveState"), before)

    def test_plain(self):
        server = self.server()
        with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
            self.plans(server, channel)

    def test_with_certificates(self):
        authority = certificates.Authority(self.folder / "pem", "ecdsa")
        cli = authority.issue("cli", dns="ank")
        server = self.server(tls=authority.issue("server", dns="ank-server"), cli=cli)
        trusted = grpc.ssl_channel_credentials(cli.ca.read_bytes(), cli.key.read_bytes(), cli.cert.read_bytes())
        named = [("grpc.ssl_target_name_override", "ank-server")]
        with grpc.secure_channel(f"127.0.0.1:{server.port}", trusted, named) as channel:
            self.plans(server, channel)
        stranger = grpc.ssl_channel_credentials(cli.ca.read_bytes())
        with grpc.secure_channel(f"127.0.0.1:{server.port}", stranger, named) as channel, self.assertRaises(grpc.RpcError):
            self.asked(channel, ["desiredState"])


if __name__ == "__main__":
    unittest.main()
