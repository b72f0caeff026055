//! CEL rules as the API server evaluates them.

mod checked;
mod costs;
mod random;

use serde_json::{Value, json};

use crate::schema::Schema;
use crate::schema::cel::{Declared, Purpose, compile};

/// Evaluates an expression on a value, whatever it is estimated to cost.
fn holds(expression: &str) -> Result<bool, String> {
    let spec = json!({"type": "object",
        "properties": {"a": {"type": "string"}},
        "x-kubernetes-validations": [{"rule": expression, "message": "no"}]
    });
    let declared = spec
        .as_object()
        .and_then(|map| Declared::of_self(map, false));
    let declared = declared.ok_or("no declaration")?;
    compile(expression, &declared, false, Purpose::Rule)?;
    let schema = Schema::trusted(&json!({"type": "object", "properties": {"spec": spec}}));
    let errors = schema.validate(&json!({"spec": {"a": "x"}}), None);
    match errors.first() {
        None => Ok(true),
        Some(error) if error.detail == "no" => Ok(false),
        Some(error) => Err(error.detail.clone()),
    }
}

#[test]
fn every_function_of_the_server_exists() {
    let table = [
        "self.a == 'x' && has(self.a)",
        "size('abc') == 3 && [1, 2].size() == 2 && size({'a': 1}) == 1",
        "'abc'.startsWith('a') && 'abc'.endsWith('c') && 'abc'.contains('b') && 'abc'.matches('^[a-c]+$')",
        "'a,b'.split(',') == ['a', 'b'] && ['a', 'b'].join('-') == 'a-b'",
        "'AbC'.lowerAscii() == 'abc' && 'AbC'.upperAscii() == 'ABC' && ' a '.trim() == 'a'",
        "'abab'.replace('a', 'x') == 'xbxb' && 'abc'.substring(1) == 'bc' && 'abc'.indexOf('c') == 2 && 'abc'.charAt(0) == 'a'",
        "'%s-%d'.format(['a', 1]) == 'a-1'",
        "'a1b22'.find('[0-9]+') == '1' && 'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'a1b22'.findAll('[0-9]+', 1) == ['1'] && 'x'.find('y') == ''",
        "[1, 2, 3].isSorted() && !['b', 'a'].isSorted()",
        "[1, 2, 3].sum() == 6 && [1.5, 2.0].sum() == 3.5 && [3, 1, 2].min() == 1 && ['a', 'c'].max() == 'c'",
        "[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(5) == -1",
        "[1, 2].all(x, x > 0) && [1, 2].exists(x, x == 2) && [1, 2].exists_one(x, x == 2) && [1, 2].map(x, x * 2) == [2, 4] && [1, 2].filter(x, x > 1) == [2]",
        "sets.contains([1, 2], [1]) && sets.equivalent([1, 2], [2, 1, 1]) && sets.intersects([1], [1, 2])",
        "quantity('1Gi').isGreaterThan(quantity('1000M')) && quantity('500m').isLessThan(quantity('1'))",
        "quantity('2').add(quantity('500m')).compareTo(quantity('2500m')) == 0 && quantity('2').sub(1) == quantity('1')",
        "isQuantity('1.5Ki') && !isQuantity('1.5X') && quantity('2k').asInteger() == 2000 && !quantity('1m').isInteger() && sign(quantity('-1')) == -1",
        "isURL('https://a.example:80/x?y=1') && !isURL('a b') && url('https://a.example:80/x?y=1').getHostname() == 'a.example' && url('https://a.example:80/x').getPort() == '80'",
        "url('https://a/x?y=1&y=2').getQuery()['y'] == ['1', '2'] && url('https://a/x').getEscapedPath() == '/x' && url('https://a/x').getScheme() == 'https'",
        "isIP('10.0.0.1') && ip('10.0.0.1').family() == 4 && ip('::1').isLoopback() && !isIP('10.0.0.256')",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.0.0.0/8').prefixLength() == 8",
        "duration('1h') > duration('59m') && timestamp('2026-01-01T00:00:00Z') < timestamp('2027-01-01T00:00:00Z')",
        "timestamp('2026-01-02T00:00:00Z').getFullYear() == 2026",
        "int('5') == 5 && double('1.5') == 1.5 && string(5) == '5' && type(5) == int",
        "'a' in ['a', 'b'] && 'k' in {'k': 1}",
        "(true || 1 / 0 == 1) && (1 < 2 ? true : false)",
        "semver('1.2.3').isLessThan(semver('v1.10', true)) && semver('1.0.0-rc.1').compareTo(semver('1.0.0')) == -1 && isSemver('1.2.3+b') && !isSemver('v1')",
        "semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('01.2', true).patch() == 0 && semver('1.0.0+a') == semver('1.0.0+b')",
        "!format.dns1123Label().validate('my-name').hasValue() && format.named('dns1123Label').value().validate('A').value().size() == 1",
        "format.qualifiedName().validate('a b').hasValue() && !format.named('nothing').hasValue() && !format.dns1123LabelPrefix().validate('a-').hasValue()",
        "!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue() && format.byte().validate('*').value() == ['invalid base64']",
        "!format.date().validate('2026-01-02').hasValue() && format.datetime().validate('x').value() == ['invalid datetime'] && !format.uri().validate('http://a/b').hasValue()",
        "!format.labelValue().validate('a').hasValue() && format.dns1035Label().validate('1a').hasValue() && !format.dns1123Subdomain().validate('a.b').hasValue()",
        "[1, 2].all(i, v, v == i + 1) && [1, 2].exists(i, v, i == 1 && v == 2) && [1, 2].existsOne(i, v, i == 0) && [1, 2].exists_one(i, v, v == 2)",
        "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2} && [1, 2].transformList(i, v, v > 1, i * 10) == [10] && {'a': 1, 'b': 2}.transformMap(k, v, k == 'b', v) == {'b': 2}",
        "{'a': 'b'}.transformMapEntry(k, v, {v: k}) == {'b': 'a'} && [1].transformMapEntry(i, v, {v: i}) == {1: 0}",
        "[3, 1, 2].sort() == [1, 2, 3] && ['b', 'a'].sortBy(x, x) == ['a', 'b'] && [1, 1, 2].distinct() == [1, 2] && [1, 2].reverse() == [2, 1]",
        "[1, 2, 3].slice(1, 2) == [2] && lists.range(3) == [0, 1, 2] && [[1], [2]].flatten() == [1, 2] && [[[1]]].flatten(2) == [1]",
        "[1, 2].first().value() == 1 && [1, 2].last().value() == 2 && !dyn([]).first().hasValue() && optional.unwrap([optional.of(1), optional.none()]) == [1] && [optional.of(2)].unwrapOpt() == [2]",
        "optional.of(1).optMap(x, x + 1).value() == 2 && optional.of(1).optFlatMap(x, optional.of(x)).value() == 1 && !optional.ofNonZeroValue(0).hasValue() && optional.none().or(optional.of(3)).value() == 3",
        "[?optional.of(1), ?optional.none()] == [1] && {?'a': optional.none()} == {} && {'a': {'b': 1}}.?a.?b.orValue(0) == 1 && [1][?5].orValue(7) == 7",
        "strings.quote('a') == '\"a\"' && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'abcabc'.lastIndexOf('b') == 4 && 'aaa'.replace('a', 'b', 1) == 'baa' && 'abc'.substring(1, 2) == 'b'",
        "[duration('1s')].sum() == duration('1s') && dyn(0.0) == [1.5].slice(0, 0).sum() && [b'a', b'b'].max() == b'b' && b'a' + b'b' == b'ab'",
        "string(cidr('10.0.0.0/8')) == '10.0.0.0/8' && string(ip('::1')) == '::1' && cidr('10.0.0.0/8').ip() == ip('10.0.0.0') && ip.isCanonical('::1')",
        "-(1) == -1 && 7 % 3 == 1 && 1u + 2u == 3u && 5 / 2 == 2 && 1.5 * 2.0 == 3.0 && duration('2s') - duration('1s') == duration('1s')",
        "optional.of(1).hasValue() && optional.none().orValue(2) == 2 && self.?a.orValue('') == 'x'",
    ];
    for expression in table {
        assert_eq!(holds(expression), Ok(true), "{expression}");
    }
}

#[test]
fn unknown_names_in_rules_are_refused_when_the_crd_is_created() {
    let table = [
        (
            "authorizer.group('x')",
            "undeclared reference to 'authorizer'",
        ),
        (
            "self.a.frobnicate()",
            "undeclared reference to 'frobnicate'",
        ),
        ("[1].all(x, y > 0)", "undeclared reference to 'y'"),
        ("self.b == 1", "undefined field 'b'"),
        ("[1].all(x, self.c == x)", "undefined field 'c'"),
        ("self.a ==", "compilation failed"),
    ];
    for (expression, text) in table {
        let error = holds(expression).expect_err("must be refused");
        assert!(error.contains(text), "{expression}: {error}");
    }
}

fn site() -> Schema {
    Schema::from_json(&json!({
        "type": "object",
        "x-kubernetes-validations": [
            {"rule": "self.metadata.name.startsWith('site')", "message": "must be named site"}
        ],
        "properties": {"spec": {
            "type": "object",
            "x-kubernetes-validations": [
                {"rule": "self.min <= self.max", "messageExpression": "'min %d is above max'.format([self.min])", "fieldPath": ".min"},
                {"rule": "!has(oldSelf.pinned) || self.pinned == oldSelf.pinned", "message": "pinned may not go", "reason": "FieldValueForbidden"}
            ],
            "properties": {
                "min": {"type": "integer"},
                "max": {"type": "integer"},
                "share": {"type": "number", "x-kubernetes-validations": [{"rule": "self <= 1.0"}]},
                "pinned": {"type": "string"},
                "class": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "class is immutable"}]},
                "zone": {"type": "string", "x-kubernetes-validations": [
                    {"rule": "oldSelf.hasValue() || self != 'late'", "message": "not at first", "optionalOldSelf": true}]},
                "until": {"type": "string", "format": "date-time", "x-kubernetes-validations": [{"rule": "self.getFullYear() > 2025"}]},
                "name-space": {"type": "string"},
                "ports": {
                    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "required": ["name"], "properties": {
                        "name": {"type": "string"},
                        "port": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "ports only grow"}]}
                    }}
                },
                "labels": {"type": "object", "additionalProperties": {"type": "string"},
                    "x-kubernetes-validations": [{"rule": "self.all(k, k.size() < 4) && !('a.b' in self)"}]}
            }
        }}
    }))
    .unwrap_or_else(|e| panic!("{e:?}"))
}

fn texts(new: Value, old: Option<Value>) -> Vec<String> {
    let object = |spec: Value| json!({"metadata": {"name": "site-1"}, "spec": spec});
    let (new, old) = (object(new), old.map(object));
    let errors = site().validate(&new, old.as_ref());
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn rules_are_evaluated_on_the_value_of_their_schema() {
    let table: &[(Value, Option<Value>, &[&str])] = &[
        (json!({"min": 1, "max": 2}), None, &[]),
        (
            json!({"min": 3, "max": 2}),
            None,
            &["spec.min: Invalid value: min 3 is above max"],
        ),
        (
            json!({"max": 2}),
            None,
            &[
                "spec: Invalid value: \"object\": no such key: min evaluating rule: self.min <= self.max",
            ],
        ),
        (
            json!({"min": 1, "max": 2, "pinned": "b"}),
            Some(json!({"min": 1, "max": 2, "pinned": "a"})),
            &["spec: Forbidden: pinned may not go"],
        ),
        // Integers are doubles where the schema says number.
        (json!({"min": 1, "max": 2, "share": 1}), None, &[]),
        (
            json!({"min": 1, "max": 2, "share": 2}),
            None,
            &["spec.share: Invalid value: 2: failed rule: self <= 1.0"],
        ),
        (json!({"min": 1, "max": 2, "class": "a"}), None, &[]),
        (
            json!({"min": 1, "max": 2, "class": "a"}),
            Some(json!({"min": 1, "max": 2})),
            &[],
        ),
        (
            json!({"min": 1, "max": 2, "class": "b"}),
            Some(json!({"min": 1, "max": 2, "class": "a"})),
            &["spec.class: Invalid value: \"b\": class is immutable"],
        ),
        (
            json!({"min": 1, "max": 2, "zone": "late"}),
            None,
            &["spec.zone: Invalid value: \"late\": not at first"],
        ),
        (
            json!({"min": 1, "max": 2, "zone": "late"}),
            Some(json!({"min": 1, "max": 2, "zone": "x"})),
            &[],
        ),
        (
            json!({"min": 1, "max": 2, "until": "2026-01-01T00:00:00Z"}),
            None,
            &[],
        ),
        (
            json!({"min": 1, "max": 2, "until": "2020-01-01T00:00:00Z"}),
            None,
            &[
                "spec.until: Invalid value: \"2020-01-01T00:00:00Z\": failed rule: self.getFullYear() > 2025",
            ],
        ),
        (
            json!({"min": 1, "max": 2, "ports": [{"name": "b", "port": 1}, {"name": "a", "port": 1}]}),
            Some(
                json!({"min": 1, "max": 2, "ports": [{"name": "a", "port": 2}, {"name": "b", "port": 1}]}),
            ),
            &["spec.ports[1].port: Invalid value: 1: ports only grow"],
        ),
        (
            json!({"min": 1, "max": 2, "labels": {"a.b": "x"}}),
            None,
            &[
                "spec.labels: Invalid value: failed rule: self.all(k, k.size() < 4) && !('a.b' in self)",
            ],
        ),
    ];
    for (new, old, expected) in table {
        assert_eq!(
            &texts(new.clone(), old.clone()),
            expected,
            "{new} after {old:?}"
        );
    }
}

#[test]
fn rules_at_the_root_see_the_name() {
    let object = json!({"metadata": {"name": "x"}, "spec": {"min": 1, "max": 2}});
    let errors = site().validate(&object, None);
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["<nil>: Invalid value: must be named site"]);
}

#[test]
fn rules_are_evaluated_only_on_valid_values() {
    let errors = texts(json!({"min": "x", "max": 0}), None);
    assert_eq!(errors.len(), 2);
    assert!(errors[0].contains("must be of type integer"), "{errors:?}");
    assert!(errors[1].contains("rules were not checked"), "{errors:?}");
}

#[test]
fn old_values_are_used_only_where_they_can_be_matched() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "array", "maxItems": 9, "items": {
        "type": "string", "maxLength": 9, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]
    }}}});
    let errors = Schema::from_json_at(&schema, "s").expect_err("must be refused");
    assert_eq!(
        errors[0].to_string(),
        "s.properties[spec].items.x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\": oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[spec]"
    );
}

#[test]
fn a_rule_of_any_depth_is_compiled_and_evaluated_on_a_small_stack() {
    let around = |open: &str, close: &str, levels: usize| {
        format!("{}true{}", open.repeat(levels), close.repeat(levels))
    };
    let held = [
        around("(", ")", 12),
        around("(", ")", 249),
        around("[1].all(x, ", ")", 60),
        around("!!", "", 49_998),
        format!("1{} > 0", "+1".repeat(249)),
        format!("true{}", " && true".repeat(12_499)),
        format!("{}true", "false ? false : ".repeat(249)),
    ];
    let refused = [
        around("(", ")", 250),
        around("(", ")", 49_998),
        around("[", "]", 49_998),
        around("{1: ", "}", 19_999),
        around("[1].all(x, ", ")", 8_333),
        format!("{}true", "false ? false : ".repeat(6_249)),
    ];
    let refused = refused.map(|rule| (rule, "expression recursion limit exceeded: 250"));
    let chains = [
        format!("1{} > 0", "+1".repeat(250)),
        format!("1{} > 0", "+1".repeat(49_997)),
        format!("self{}", ".a".repeat(49_998)),
        format!("self{}", "[0]".repeat(33_332)),
        format!("self{}", ".a()".repeat(24_999)),
    ];
    let chains = chains.map(|rule| (rule, "max recursion depth exceeded"));
    let others = [
        (
            format!("{}\n", "#".repeat(16_000)).repeat(6),
            "more errors were truncated",
        ),
        (
            format!("{}true", "!-".repeat(49_998)),
            "no viable alternative",
        ),
        (
            format!("true{} +", " ".repeat(99_990)),
            ":99997: Syntax error: ",
        ),
        (
            format!("true{}", " ".repeat(99_997)),
            "expression code point size exceeds limit: size: 100001, limit 100000",
        ),
    ];
    // The stack size of a runtime's threads.
    let small = std::thread::Builder::new().stack_size(2 << 20);
    let checked = small.spawn(move || {
        for rule in held {
            assert_eq!(holds(&rule), Ok(true), "{rule:.100}");
        }
        for (rule, why) in refused.into_iter().chain(chains).chain(others) {
            let error = holds(&rule).expect_err(&rule[..40]);
            assert!(error.contains(why), "{rule:.100}: {error:.1000}");
        }
    });
    checked.unwrap().join().unwrap();
}

#[test]
fn what_fails_says_why() {
    let table = [
        ("1 / int(size(self.a) - 1) == 1", "division by zero"),
        ("7 % int(size(self.a) - 1) == 1", "modulus by zero"),
        (
            "9223372036854775807 + size(self.a) == 1",
            "integer overflow",
        ),
        ("[1][size(self.a)] == 1", "index out of bounds: 1"),
        ("{'a': 1}[self.a] == 1", "no such key: x"),
        (
            "int(self.a) == 1",
            "type conversion error from 'string' to 'int'",
        ),
        (
            "optional.none().value() == 1",
            "optional.none() dereference",
        ),
        (
            "semver(self.a) == semver('1.2.3')",
            "No Major.Minor.Patch elements found",
        ),
        (
            "[1].slice(0, size(self.a) + 1) == []",
            "cannot slice(0, 2), list is length 1",
        ),
        (
            "{'a': 1, 'b': 1}.transformMapEntry(k, v, {v: k}) == {}",
            "insert failed: key 1 already exists",
        ),
        ("dyn(self.a) > 1", "no such overload"),
    ];
    for (expression, text) in table {
        let error = holds(expression).expect_err(expression);
        assert!(error.contains(text), "{expression}: {error}");
    }
}
