//! What the type checker refuses, with the texts of a real server.

use serde_json::json;

use crate::schema::Schema;

/// The text with which a rule is refused.
fn refused(member: &str, expression: &str) -> Option<String> {
    let mut rule = json!({"rule": "true"});
    rule[member] = expression.into();
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object",
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "share": {"type": "number"},
            "flag": {"type": "boolean"},
            "list": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 5}},
            "labels": {"type": "object", "maxProperties": 5, "additionalProperties": {"type": "string", "maxLength": 5}},
            "inner": {"type": "object", "properties": {"a": {"type": "string"}}},
            "port": {"x-kubernetes-int-or-string": true},
            "namespace": {"type": "string"},
            "a.b": {"type": "string"},
            "when": {"type": "string", "format": "date-time"}
        },
        "x-kubernetes-validations": [rule]
    }}});
    let errors = Schema::from_json(&schema).err()?;
    Some(errors[0].detail.clone())
}

#[test]
fn wrong_types_are_refused_with_their_place() {
    let table = [
        (
            "self.text == 1",
            "ERROR: <input>:1:11: found no matching overload for '_==_' applied to '(string, int)'\n | self.text == 1\n | ..........^",
        ),
        (
            "self.missing == 1",
            "ERROR: <input>:1:5: undefined field 'missing'\n | self.missing == 1\n | ....^",
        ),
        (
            "self.text.a == 1",
            "ERROR: <input>:1:10: type 'string' does not support field selection\n | self.text.a == 1\n | .........^",
        ),
        (
            "self.text.frobnicate()",
            "ERROR: <input>:1:21: undeclared reference to 'frobnicate' (in container '')\n | self.text.frobnicate()\n | ....................^",
        ),
        (
            "unknown > 1",
            "ERROR: <input>:1:1: undeclared reference to 'unknown' (in container '')\n | unknown > 1\n | ^",
        ),
        (
            "self.count.startsWith('a')",
            "ERROR: <input>:1:22: found no matching overload for 'startsWith' applied to 'int.(string)'\n | self.count.startsWith('a')\n | .....................^",
        ),
        (
            "self.list.all(x, x > 1)",
            "ERROR: <input>:1:20: found no matching overload for '_>_' applied to '(string, int)'\n | self.list.all(x, x > 1)\n | ...................^",
        ),
        (
            "self.text && self.flag",
            "ERROR: <input>:1:5: expected type 'bool' but found 'string'\n | self.text && self.flag\n | ....^",
        ),
        (
            "[1, 'a'] == []",
            "ERROR: <input>:1:5: expected type 'int' but found 'string'\n | [1, 'a'] == []\n | ....^",
        ),
        (
            "self.count.all(x, true)",
            "ERROR: <input>:1:5: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)\n | self.count.all(x, true)\n | ....^",
        ),
        (
            "self.text == null",
            "ERROR: <input>:1:11: found no matching overload for '_==_' applied to '(string, null)'\n | self.text == null\n | ..........^",
        ),
        (
            "duration('x') == duration('1s')",
            "ERROR: <input>:1:10: invalid duration argument\n | duration('x') == duration('1s')\n | .........^",
        ),
        (
            "self.text.matches('(')",
            "ERROR: <input>:1:19: invalid matches argument\n | self.text.matches('(')\n | ..................^",
        ),
        (
            "true &&\n self.missing",
            "ERROR: <input>:2:6: undefined field 'missing'\n |  self.missing\n | .....^",
        ),
        (
            "self.a == self.b",
            "ERROR: <input>:1:5: undefined field 'a'\n | self.a == self.b\n | ....^\nERROR: <input>:1:15: undefined field 'b'\n | self.a == self.b\n | ..............^",
        ),
    ];
    for (rule, text) in table {
        let mut rule_text = refused("rule", rule).unwrap_or_default();
        if rule.contains('\n') {
            // A rule of several lines needs a message.
            rule_text = refused_with_message(rule);
        }
        assert_eq!(rule_text, format!("compilation failed: {text}"), "{rule}");
    }
}

fn refused_with_message(rule: &str) -> String {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object",
        "properties": {"flag": {"type": "boolean"}},
        "x-kubernetes-validations": [{"rule": rule, "message": "no"}]
    }}});
    let errors = Schema::from_json(&schema).expect_err("must be refused");
    errors[0].detail.clone()
}

#[test]
fn the_result_of_an_expression_has_its_type() {
    let table = [
        (
            "rule",
            "self.text",
            "cel expression must evaluate to a bool",
        ),
        (
            "rule",
            "self.port",
            "cel expression must evaluate to a bool",
        ),
        (
            "rule",
            "self.count + 1",
            "cel expression must evaluate to a bool",
        ),
        (
            "messageExpression",
            "self.count",
            "messageExpression must evaluate to a string",
        ),
        (
            "messageExpression",
            "self.missing",
            "messageExpression compilation failed: ERROR: <input>:1:5: undefined field 'missing'\n | self.missing\n | ....^",
        ),
    ];
    for (member, expression, text) in table {
        assert_eq!(
            refused(member, expression).as_deref(),
            Some(text),
            "{expression}"
        );
    }
}

#[test]
fn what_a_real_server_accepts_is_accepted() {
    let table = [
        "self.__namespace__ == 'a' || self.a__dot__b == 'b'",
        "self.port == 1 || self.port == 'a'",
        "type(self.port) == int ? self.port < 5 : self.port.matches('[a-z]+')",
        "self.inner == self.inner && has(self.inner.a)",
        "self.when.getFullYear() > 2000 && self.when < timestamp('2030-01-01T00:00:00Z')",
        "self.labels.all(k, self.labels[k] != '') && self.labels['a'] == 'x'",
        "self.count < self.share && self.count < 1.5",
        "self.list.map(x, x + 'a').exists(x, x == 'b') && size(self.list) == self.list.size()",
        "self.?text.orValue('') == '' && self.labels[?'a'].hasValue()",
        "self.?inner.?a.optMap(a, a.size()).orValue(0) == 0",
        "dyn(self.text) == 1 || [dyn(1), dyn('a')].size() == 2",
        "type(self.text) == string && type(self.when) == google.protobuf.Timestamp",
        "{'a': 1}.all(k, v, v == 1) && [1].transformList(i, v, i + v) == [1]",
        "self.list == [] || {} == {'a': 1}",
        "oldSelf.count <= self.count",
        "[[1], [2, 3]].flatten() == [1, 2, 3] && [3, 1].sort() == [1, 3] && [1, 2].first().value() == 1",
    ];
    for rule in table {
        assert_eq!(refused("rule", rule), None, "{rule}");
    }
}
