//! Random expressions of right types.

use cel::Value;
use fastrand::Rng;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::schema::Schema;
use crate::schema::cel::{Declared, Purpose, Stopped, compile};
use crate::schema::rule_values::convert;

fn schema() -> Json {
    json!({"type": "object", "required": ["n", "s", "list", "words", "map", "flag", "inner"], "properties": {
        "n": {"type": "integer"},
        "s": {"type": "string", "maxLength": 10},
        "list": {"type": "array", "maxItems": 4, "items": {"type": "integer"}},
        "words": {"type": "array", "maxItems": 4, "items": {"type": "string", "maxLength": 6}},
        "map": {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "integer"}},
        "flag": {"type": "boolean"},
        "inner": {"type": "object", "properties": {"a": {"type": "string", "maxLength": 4}}},
        "port": {"x-kubernetes-int-or-string": true, "maxLength": 5}
    }})
}

fn value(random: &mut Rng) -> Json {
    let mut text = |most: usize| -> String {
        let length = random.usize(..=most);
        (0..length)
            .map(|_| random.choice(['a', 'b', 'B', ',', 'é']).unwrap())
            .collect()
    };
    let (s, a, words) = (text(10), text(4), [text(6), text(6), text(6)]);
    let list: Vec<i64> = (0..random.usize(..=4)).map(|_| random.i64(-3..9)).collect();
    let mut inner = json!({});
    if random.bool() {
        inner["a"] = a.into();
    }
    let port = if random.bool() {
        json!(80)
    } else {
        json!("http")
    };
    json!({"n": random.i64(-3..9), "s": s, "list": list, "words": &words[..random.usize(..=3)],
        "map": {"a": random.i64(0..5), "b": 2}, "flag": random.bool(), "inner": inner, "port": port})
}

/// Makes expressions.
struct Maker<'r> {
    random: &'r mut Rng,
    /// The integer variables of the surrounding macros.
    numbers: Vec<String>,
    /// Their text variables.
    texts: Vec<String>,
}

impl Maker<'_> {
    fn pick(&mut self, variables: bool) -> Option<String> {
        let of = if variables {
            &self.numbers
        } else {
            &self.texts
        };
        let picked = self.random.choice(of.iter()).cloned();
        picked.filter(|_| self.random.bool())
    }

    /// A macro over a list of integers, with `inside` over one more variable.
    fn over_list(
        &mut self,
        depth: u32,
        name: &str,
        inside: fn(&mut Self, u32) -> String,
    ) -> String {
        let list = self.list(depth);
        let variable = format!("x{}", self.numbers.len());
        self.numbers.push(variable.clone());
        let inner = inside(self, depth);
        self.numbers.pop();
        format!("{list}.{name}({variable}, {inner})")
    }

    fn over_words(
        &mut self,
        depth: u32,
        name: &str,
        inside: fn(&mut Self, u32) -> String,
    ) -> String {
        let variable = format!("w{}", self.texts.len());
        self.texts.push(variable.clone());
        let inner = inside(self, depth);
        self.texts.pop();
        format!("self.words.{name}({variable}, {inner})")
    }

    fn boolean(&mut self, depth: u32) -> String {
        let Some(d) = depth.checked_sub(1) else {
            let simple = [
                "true",
                "false",
                "self.flag",
                "has(self.inner.a)",
                "has(self.port)",
            ];
            return self.random.choice(simple).unwrap().into();
        };
        match self.random.u32(..18) {
            0 => format!("{} < {}", self.number(d), self.number(d)),
            1 => format!("{} == {}", self.number(d), self.number(d)),
            2 => format!("{} != {}", self.text(d), self.text(d)),
            3 => format!("{}.startsWith({})", self.text(d), self.text(d)),
            4 => format!("({} && {})", self.boolean(d), self.boolean(d)),
            5 => format!("({} || {})", self.boolean(d), self.boolean(d)),
            6 => format!("!({})", self.boolean(d)),
            7 => self.over_list(d, "all", Self::boolean),
            8 => self.over_list(d, "exists_one", Self::boolean),
            9 => self.over_words(d, "exists", Self::boolean),
            10 => format!("{} in {}", self.number(d), self.list(d)),
            11 => format!("{} in self.map", self.text(d)),
            12 => format!(
                "({} ? {} : {})",
                self.boolean(d),
                self.boolean(d),
                self.boolean(d)
            ),
            13 => format!("{}.isSorted()", self.list(d)),
            14 => format!("{} == {}", self.list(d), self.list(d)),
            15 => format!("sets.intersects({}, {})", self.list(d), self.list(d)),
            16 => format!("self.map.all(k, v, v > {})", self.number(d)),
            _ => format!("{}.contains({})", self.text(d), self.text(d)),
        }
    }

    fn number(&mut self, depth: u32) -> String {
        if let Some(variable) = self.pick(true) {
            return variable;
        }
        let Some(d) = depth.checked_sub(1) else {
            let simple = ["0", "3", "self.n", "self.map['a']", "size(self.s)"];
            return self.random.choice(simple).unwrap().into();
        };
        match self.random.u32(..9) {
            0 => format!("({} + {})", self.number(d), self.number(d)),
            1 => format!("({} - {})", self.number(d), self.number(d)),
            2 => format!("({} / {})", self.number(d), self.number(d)),
            3 => format!("{}.size()", self.list(d)),
            4 => format!("{}.sum()", self.list(d)),
            5 => format!("{}[0]", self.list(d)),
            6 => format!("{}.indexOf({})", self.text(d), self.text(d)),
            7 => format!("{}.first().orValue({})", self.list(d), self.number(d)),
            _ => format!(
                "({} ? {} : {})",
                self.boolean(d),
                self.number(d),
                self.number(d)
            ),
        }
    }

    fn text(&mut self, depth: u32) -> String {
        if let Some(variable) = self.pick(false) {
            return variable;
        }
        let Some(d) = depth.checked_sub(1) else {
            let simple = [
                "''",
                "'ab'",
                "self.s",
                "self.inner.a",
                "self.?inner.?a.orValue('x')",
            ];
            return self.random.choice(simple).unwrap().into();
        };
        match self.random.u32(..7) {
            0 => format!("({} + {})", self.text(d), self.text(d)),
            1 => format!("{}.lowerAscii()", self.text(d)),
            2 => format!("{}.substring(1)", self.text(d)),
            3 => format!("{}.replace('a', 'bb')", self.text(d)),
            4 => "self.words.join(',')".into(),
            5 => format!("'%s'.format([{}])", self.text(d)),
            _ => format!(
                "({} ? {} : {})",
                self.boolean(d),
                self.text(d),
                self.text(d)
            ),
        }
    }

    fn list(&mut self, depth: u32) -> String {
        let Some(d) = depth.checked_sub(1) else {
            let simple = ["self.list", "[1, 2]", "lists.range(3)"];
            return self.random.choice(simple).unwrap().into();
        };
        match self.random.u32(..8) {
            0 => format!("[{}, {}]", self.number(d), self.number(d)),
            1 => self.over_list(d, "map", Self::number),
            2 => self.over_list(d, "filter", Self::boolean),
            3 => format!("({} + {})", self.list(d), self.list(d)),
            4 => format!("{}.sort()", self.list(d)),
            5 => format!("{}.distinct()", self.list(d)),
            6 => format!("{}.reverse()", self.list(d)),
            _ => format!("{}.transformList(i, v, i + v)", self.list(d)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn an_expression_of_right_types_is_compiled_and_costs_about_what_was_estimated(
        seed in any::<u64>(), depth in 0_u32..5
    ) {
        let mut random = Rng::with_seed(seed);
        let mut maker = Maker { random: &mut random, numbers: Vec::new(), texts: Vec::new() };
        let expression = maker.boolean(depth);
        let schema = schema();
        let declared = Declared::of_self(schema.as_object().unwrap(), false).unwrap();
        let compiled = compile(&expression, &declared, false, Purpose::Rule);
        let compiled = compiled.unwrap_or_else(|e| panic!("{expression}: {e}"));
        let value = value(&mut random);
        let this = convert(Some(Schema::trusted(&schema).node()), &value);
        let outcome = compiled.evaluate(vec![("self", this)]);
        match outcome.result {
            Ok(result) => prop_assert!(matches!(result, Value::Bool(_)), "{expression}"),
            Err(Stopped::Failed(why)) => {
                prop_assert!(!why.contains("overload"), "{expression} on {value}: {why}");
            }
            Err(Stopped::TooExpensive) => {}
        }
        // The estimate of a comparison of numbers is one too low.
        let most = compiled.largest_cost.saturating_mul(3).saturating_add(20);
        prop_assert!(
            outcome.cost <= most,
            "{expression} on {value}: {} instead of {}", outcome.cost, compiled.largest_cost
        );
    }
}
