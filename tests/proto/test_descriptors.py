"""Compares our messages with those of a peer, the Python SDK for workloads, field by field.

    $(tools/setup --python) tools/run-unittests tests/proto

Ours are the FileDescriptorSet that the build leaves; TIPHYS_DESCRIPTORS names that of another build than dev.
"""

import copy
import os
import pathlib
import unittest

from ankaios_sdk._protos import ank_base_pb2, control_api_pb2
from google.protobuf import descriptor_pb2

FieldProto = descriptor_pb2.FieldDescriptorProto

ROOT = pathlib.Path(__file__).resolve().parents[2]
DESCRIPTORS = pathlib.Path(os.environ.get("TIPHYS_DESCRIPTORS", ROOT / "build/dev/proto/tiphys.descriptors"))

# What our messages have and the SDK's do not, and why.
NEWER = {
    "ank_base.CompleteState.effectiveState": "added to the protocol after version 1.0 of the SDK",
}


def facts_of_enum(enum, prefix):
    facts = {f"{prefix}.{enum.name}": "enum"}
    for value in enum.value:
        facts[f"{prefix}.{enum.name}.{value.name}"] = f"= {value.number}"
    return facts


def facts_of_field(message, field):
    oneof = message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else None
    return (
        f"= {field.number} {FieldProto.Label.Name(field.label)} {FieldProto.Type.Name(field.type)} "
        f"{field.type_name or '-'} oneof={oneof} optional={field.proto3_optional} "
        f"packed={field.options.packed if field.options.HasField('packed') else 'default'} "
        f"deprecated={field.options.deprecated}"
    )


def facts_of_message(message, prefix):
    name = f"{prefix}.{message.name}"
    facts = {name: "map entry" if message.options.map_entry else "message"}
    for field in message.field:
        facts[f"{name}.{field.name}"] = facts_of_field(message, field)
    for reserved in message.reserved_range:
        facts[f"{name} reserves {reserved.start} to {reserved.end}"] = "reserved"
    for reserved in message.reserved_name:
        facts[f"{name} reserves {reserved}"] = "reserved"
    for nested in message.nested_type:
        facts.update(facts_of_message(nested, name))
    for enum in message.enum_type:
        facts.update(facts_of_enum(enum, name))
    return facts


def facts_of_file(file):
    """Everything that decides about the bytes of a package, as name -> text."""
    facts = {
        file.package: f"{file.syntax} imports {sorted(file.dependency)}",
    }
    for message in file.message_type:
        facts.update(facts_of_message(message, file.package))
    for enum in file.enum_type:
        facts.update(facts_of_enum(enum, file.package))
    return facts


def differences(ours, theirs):
    """Name -> (our fact, their fact) where they differ; a fact that one side does not have is None."""
    return {
        name: (ours.get(name), theirs.get(name))
        for name in sorted(ours.keys() | theirs.keys())
        if ours.get(name) != theirs.get(name)
    }


def our_files():
    descriptors = descriptor_pb2.FileDescriptorSet()
    descriptors.ParseFromString(DESCRIPTORS.read_bytes())
    return {file.package: file for file in descriptors.file}


def their_file(module):
    file = descriptor_pb2.FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(file)
    return file


class TheDescriptors(unittest.TestCase):
    def assert_same_but_for_what_is_newer(self, module):
        theirs = their_file(module)
        ours = our_files()[theirs.package]
        found = differences(facts_of_file(ours), facts_of_file(theirs))
        newer = {name for name in NEWER if name.startswith(f"{theirs.package}.")}
        self.assertEqual({name: pair for name, pair in found.items() if name not in newer}, {})
        # An entry of the list that no longer differs, or differs by more than being new, is a mistake in the list.
        self.assertEqual({name: found.get(name, ("same", "same"))[1] for name in newer}, {name: None for name in newer})

    def test_of_ank_base_are_those_of_the_sdk(self):
        self.assert_same_but_for_what_is_newer(ank_base_pb2)

    def test_of_control_api_are_those_of_the_sdk(self):
        self.assert_same_but_for_what_is_newer(control_api_pb2)

    def test_name_three_services_of_which_one_is_deprecated(self):
        services = our_files()["grpc_api"].service
        self.assertEqual(
            [
                (
                    service.name,
                    service.options.deprecated,
                    [
                        (
                            method.name,
                            method.input_type,
                            method.client_streaming,
                            method.output_type,
                            method.server_streaming,
                            method.options.deprecated,
                        )
                        for method in service.method
                    ],
                )
                for service in services
            ],
            [
                (service, deprecated, [(method, ".grpc_api.ToServer", True, ".grpc_api.FromServer", True, deprecated)])
                for service, method, deprecated in [
                    ("AgentConnection", "ConnectAgent", False),
                    ("CliConnection", "ConnectCli", True),
                    ("CommandConnection", "ConnectCommand", False),
                ]
            ],
        )


class TheComparison(unittest.TestCase):
    """A comparison that sees nothing would prove nothing."""

    def setUp(self):
        self.theirs = their_file(ank_base_pb2)
        self.spoilt = copy.deepcopy(self.theirs)
        self.workload = next(m for m in self.spoilt.message_type if m.name == "Workload")
        self.agent = next(f for f in self.workload.field if f.name == "agent")

    def names_that_differ(self):
        return list(differences(facts_of_file(self.spoilt), facts_of_file(self.theirs)))

    def test_sees_nothing_in_equal_files(self):
        self.assertEqual(self.names_that_differ(), [])

    def test_sees_a_changed_number(self):
        self.agent.number = 12
        self.assertEqual(self.names_that_differ(), ["ank_base.Workload.agent"])

    def test_sees_a_changed_type(self):
        self.agent.type = FieldProto.TYPE_BYTES
        self.assertEqual(self.names_that_differ(), ["ank_base.Workload.agent"])

    def test_sees_a_changed_label(self):
        self.agent.label = FieldProto.LABEL_REPEATED
        self.assertEqual(self.names_that_differ(), ["ank_base.Workload.agent"])

    def test_sees_lost_presence(self):
        self.agent.ClearField("proto3_optional")
        self.agent.ClearField("oneof_index")
        self.assertEqual(self.names_that_differ(), ["ank_base.Workload.agent"])

    def test_sees_a_renamed_field(self):
        self.agent.name = "agentName"
        self.assertEqual(self.names_that_differ(), ["ank_base.Workload.agent", "ank_base.Workload.agentName"])

    def test_sees_a_renamed_oneof(self):
        file = next(m for m in self.spoilt.message_type if m.name == "File")
        file.oneof_decl[0].name = "Content"
        self.assertEqual(self.names_that_differ(), ["ank_base.File.binaryData", "ank_base.File.data"])

    def test_sees_a_changed_enum_value(self):
        next(e for e in self.spoilt.enum_type if e.name == "ReadWriteEnum").value[3].number = 3
        self.assertEqual(self.names_that_differ(), ["ank_base.ReadWriteEnum.RW_READ_WRITE"])

    def test_sees_a_changed_map(self):
        tags = next(m for m in self.spoilt.message_type if m.name == "Tags")
        tags.nested_type[0].field[1].type = FieldProto.TYPE_BYTES
        self.assertEqual(self.names_that_differ(), ["ank_base.Tags.TagsEntry.value"])

    def test_sees_a_missing_message(self):
        del self.spoilt.message_type[:]
        self.assertIn("ank_base.Workload", self.names_that_differ())


if __name__ == "__main__":
    unittest.main()
