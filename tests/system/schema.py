# SPDX-License-Identifier: BSD-2-Clause
# Usage: schema.py SCHEMA KIND=FILE...: a file has JSON values, one after the other, as the schema says of
# this kind, and together they show at least one record.
import json, sys
import jsonschema



def values_of(text):
    """The values, with or without line breaks in them."""
    values, text = [], text.strip()
    while text:
        value, end = json.JSONDecoder().raw_decode(text)
        values.append(value)
        text = text[end:].lstrip()
    return values


schema = json.load(open(sys.argv[1]))
for argument in sys.argv[2:]:
    kind, name = argument.split("=", 1)
    assert kind in schema["$defs"], kind
    check = jsonschema.Draft202012Validator(dict(schema, **{"$ref": f"#/$defs/{kind}"}))
    values = values_of(open(name).read())
    assert any(values), f"{argument}: nothing to check"
    for value in values:
        for error in check.iter_errors(value):
            sys.exit(f"{argument}: {error.json_path}: {error.message}")
