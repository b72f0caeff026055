//! Costs, with the figures of a real server for the same rules.

use cel::Value;
use serde_json::{Value as Json, json};

use crate::schema::Schema;
use crate::schema::cel::{Declared, Purpose, Stopped, compile};
use crate::schema::rule_values::convert;

fn declared(schema: &Json) -> Declared {
    let map = schema.as_object().expect("an object");
    Declared::of_self(map, false).expect("a schema that rules can see")
}

fn estimated(schema: &Json, rule: &str) -> u64 {
    let compiled = compile(rule, &declared(schema), false, Purpose::Rule);
    compiled
        .unwrap_or_else(|e| panic!("{rule}: {e}"))
        .largest_cost
}

/// The counted cost of a rule that holds.
fn counted(schema: &Json, value: &Json, rule: &str) -> u64 {
    let compiled = compile(rule, &declared(schema), false, Purpose::Rule);
    let compiled = compiled.unwrap_or_else(|e| panic!("{rule}: {e}"));
    let schema = Schema::trusted(schema);
    let this = convert(Some(schema.node()), value);
    let outcome = compiled.evaluate(vec![("self", this)]);
    assert_eq!(outcome.result, Ok(Value::Bool(true)), "{rule}");
    outcome.cost
}

fn array(items: Json) -> Json {
    json!({"type": "array", "items": items})
}

#[test]
fn estimates_are_those_of_a_real_server() {
    let number = || json!({"type": "number"});
    let text = || json!({"type": "string"});
    let map = |values: Json| json!({"type": "object", "additionalProperties": values});
    let format = |format: &str| json!({"type": "string", "format": format});
    let table = [
        (array(number()), "self.all(x, true)", 4_718_591),
        (array(text()), "self.all(x, true)", 3_145_727),
        (
            array(json!({"type": "boolean"})),
            "self.all(x, true)",
            1_887_437,
        ),
        (array(array(number())), "self.all(x, true)", 3_145_727),
        (map(number()), "self.all(x, true)", 1_348_169),
        (map(text()), "self.all(x, true)", 1_179_647),
        (text(), "self.contains('test')", 314_574),
        (text(), "self.startsWith('test')", 2),
        (text(), "size(self + 'hello') > size('hello')", 314_578),
        (array(number()), "self[1] == 0.0", 2),
        (array(text()), "self[1] == self[1]", 314_577),
        (text(), "self.matches('x')", 314_574),
        (text(), "''.matches('(((((((((())))))))))[0-9]')", 7),
        (text(), "self == 'x'", 2),
        (format("byte"), "self == b'x'", 2),
        (array(number()), "self.all(x, x == 0.0)", 6_291_454),
        (
            array(json!({"x-kubernetes-int-or-string": true})),
            "self[0] == 5",
            3,
        ),
        (array(array(number())), "self[0][0] == -1.0", 3),
        (array(map(number())), "self.all(x, x.y == 25.2)", 6_291_452),
        (array(map(number())), "self[0].x > 2.0", 4),
        (array(format("duration")), "self.all(x, true)", 2_359_295),
        (array(format("date")), "self.all(x, true)", 725_936),
        (array(format("date-time")), "self.all(x, true)", 428_963),
        (array(format("duration")), "self[0].getHours() == 2", 4),
        (text(), "self.replace(' ', 'x', 1) == 'ab'", 629_148),
        (text(), "isQuantity(self)", 314_574),
        (text(), "quantity('50').isInteger()", 2),
        (text(), "double(5) < 10.0", 2),
        (
            json!({"type": "array", "maxItems": 10, "items": {"type": "number"}}),
            "self.all(x, self.all(y, true))",
            352,
        ),
        (
            json!({"type": "array", "maxItems": 10, "items": {"type": "number"}}),
            "self.all(x, self.all(y, self.all(z, true)))",
            3_552,
        ),
        (
            json!({"type": "string", "maxLength": 10}),
            "self.contains('test')",
            5,
        ),
        (
            json!({"type": "string", "maxLength": 50}),
            "self.matches('x')",
            22,
        ),
    ];
    for (schema, rule, cost) in table {
        assert_eq!(estimated(&schema, rule), cost, "{rule} on {schema}");
    }
}

#[test]
fn counted_costs_are_those_of_a_real_server() {
    let any = json!({"type": "object", "properties": {
        "n": {"type": "number"},
        "text": {"type": "string"},
        "quantity": {"type": "string"},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "array": {"type": "array", "items": {"type": "integer"}},
        "any": {"x-kubernetes-int-or-string": true},
        "state": {"type": "string", "enum": ["Pending", "Available"]}
    }});
    let value = json!({"n": 1.5, "text": "Rook", "quantity": "50M", "map": {"a": 1, "b": 2},
        "array": [1, 1, 2, 2, 3, 3, 4, 5], "any": "25%", "state": "Pending"});
    let table = [
        ("type(self.n) == double", 4),
        ("double(self.n) < self.n + 1.0", 7),
        ("double(5) < 10.0", 1),
        ("!self.text.startsWith('knight')", 4),
        ("self.text.lowerAscii() == self.text.lowerAscii()", 7),
        ("self.state in ['Pending', 'Available']", 2),
        ("!('c' in self.map)", 4),
        ("self.map.all(k, self.map[k] > 0)", 17),
        ("size(self.map.filter(k, self.map[k] > 1)) == 1", 26),
        ("self.map.all(k, v, v > 0)", 13),
        (
            "self.map.transformMapEntry(k, v, v > 1, {k + '2': v + 1}).size() == 1",
            45,
        ),
        ("type(self.any) == string && self.any == '25%'", 7),
        ("self.any == 1 || self.any == '25%'", 6),
        ("self.any == '25%' || self.any == 1", 3),
        ("has(self.any)", 1),
        ("isQuantity(self.quantity)", 3),
        ("isQuantity('200M')", 1),
        ("quantity(self.quantity).isInteger()", 4),
        ("quantity('200M').compareTo(quantity('0.2G')) == 0", 4),
        (
            "quantity('50k').add(quantity('20')) == quantity('50.02k')",
            5,
        ),
        ("lists.range(4) == [0,1,2,3]", 16),
        ("[5,1,2,3].reverse() == [3,2,1,5]", 16),
        ("[1,2,3,4].slice(1, 3) == [2, 3]", 14),
        ("dyn([1,2,3,4]).flatten() == [1,2,3,4]", 16),
        ("[4, 3, 2, 1].sort() == [1, 2, 3, 4]", 44),
        ("['d', 'a', 'b', 'c'].sort() == ['a', 'b', 'c', 'd']", 45),
        (
            "[-3, 1, -5, -2, 4].sortBy(e, -(e * e)) == [-5, 4, -3, -2, 1]",
            145,
        ),
        ("lists.range(3).sortBy(e, -e) == [2, 1, 0]", 89),
        ("[-2, 5, -2, 1, 1, 5, -2, 1].distinct() == [-2, 5, 1]", 140),
        (
            "self.array.map(e, e * 20).filter(e, e > 50).exists(e, e == 60)",
            194,
        ),
    ];
    let mut wrong = Vec::new();
    for (rule, cost) in table {
        let found = counted(&any, &value, rule);
        if found != cost {
            wrong.push(format!("{rule}: {found} instead of {cost}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_evaluation_ends_when_it_costs_too_much() {
    let schema = array(json!({"type": "integer"}));
    let numbers: Vec<u64> = (0..500).collect();
    for rule in [
        "self.all(x, self.all(y, self.all(z, x + y + z >= 0)))",
        "true || self.all(x, self.all(y, self.all(z, x + y + z >= 0)))",
        "lists.range(1000000000).size() > 0",
        "self.map(x, self.map(y, string(y))).all(x, x.join().size() > 0)",
    ] {
        let compiled = compile(rule, &declared(&schema), false, Purpose::Rule);
        let compiled = compiled.unwrap_or_else(|e| panic!("{rule}: {e}"));
        let this = convert(None, &json!(numbers));
        let outcome = compiled.evaluate(vec![("self", this)]);
        let expected = match rule.starts_with("true") {
            true => Ok(Value::Bool(true)),
            false => Err(Stopped::TooExpensive),
        };
        assert_eq!(outcome.result, expected, "{rule}");
    }
}

#[test]
fn a_value_that_holds_another_many_times_is_not_visited_without_end() {
    let doubled = ".map(x, [x, x])".repeat(40);
    let rule = format!("[1]{doubled} == [2]{doubled} || true");
    let schema = array(json!({"type": "integer"}));
    let compiled = compile(&rule, &declared(&schema), false, Purpose::Rule);
    let compiled = compiled.unwrap_or_else(|e| panic!("{e}"));
    let outcome = compiled.evaluate(Vec::new());
    assert_eq!(outcome.result, Err(Stopped::TooExpensive));
}

fn refusals(schema: Json) -> Vec<String> {
    let errors = Schema::from_json_at(&schema, "s").err().unwrap_or_default();
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn rules_that_may_cost_too_much_are_refused() {
    let schema = |limit: Option<u64>| {
        let mut list = json!({"type": "array", "items": {"type": "string", "maxLength": 10},
            "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x != y || x == y))"}]});
        if let Some(limit) = limit {
            list["maxItems"] = limit.into();
        }
        json!({"type": "object", "properties": {"list": list}})
    };
    let advice = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are \
                  declared)";
    let at = "s.properties[list].x-kubernetes-validations[0].rule: Forbidden";
    let total = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    assert_eq!(refusals(schema(Some(500))), Vec::<String>::new());
    // One comparison costs at most four, so that a turn of the inner loop costs at most 13.
    let errors = refusals(schema(Some(1200)));
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].starts_with(at), "{errors:?}");
    assert!(errors[0].ends_with(advice), "{errors:?}");
    let errors = refusals(schema(None));
    assert_eq!(
        errors,
        [
            format!(
                "{at}: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            ),
            format!(
                "{at}: estimated rule cost exceeds budget by factor of more than 100x {advice}"
            ),
            format!("s: Forbidden: {total} exceeds budget by factor of more than 100x {advice}"),
        ]
    );
}

#[test]
fn rules_stop_when_the_budget_of_an_object_is_spent() {
    let schema = json!({"type": "object", "properties": {"lists": {"type": "array", "maxItems": 40, "items": {
        "type": "array", "maxItems": 320, "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x + y >= 0))"}]
    }}}});
    let schema = Schema::trusted(&schema);
    let list: Vec<u64> = (0..320).collect();
    let object = |lists: usize| json!({"lists": vec![list.clone(); lists]});
    assert_eq!(schema.validate(&object(10), None), []);
    let errors = schema.validate(&object(40), None);
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(
        texts[0].ends_with(
            "Invalid value: \"array\": validation failed due to running out of cost budget, no further validation rules will be run"
        ),
        "{texts:?}"
    );
}
