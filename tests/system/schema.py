# SPDX-License-Identifier: BSD-2-Clause
# Usage: schema.py SCHEMA KIND=FILE...: each line of a file is JSON as the schema says of this kind, and together
# they show at least one record.
import json, sys
import jsonschema

schema = json.load(open(sys.argv[1]))
for argument in sys.argv[2:]:
    kind, name = argument.split("=", 1)
    assert kind in schema["$defs"], kind
    check = jsonschema.Draft202012Validator(dict(schema, **{"$ref": f"#/$defs/{kind}"}))
    values = [json.loads(line) for line in open(name)]
    assert any(values), f"{argument}: nothing to check"
    for value in values:
        for error in check.iter_errors(value):
            sys.exit(f"{argument}: {error.json_path}: {error.message}")
