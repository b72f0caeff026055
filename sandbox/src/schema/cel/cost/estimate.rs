use std::collections::HashMap;

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue};

use super::range::Range;
use super::sizes::{INDICES, ITEMS, KEYS, Place, VALUES, below, declared, fixed};
use super::{LIST, MAP};
use crate::schema::cel::check::Checked;
use crate::schema::cel::declare::Declared;
use crate::schema::cel::types::{self, Type};

/// The largest cost of evaluating an expression once.
pub(in crate::schema::cel) fn largest(checked: &Checked, declared: &Declared) -> u64 {
    let mut estimate = Estimate {
        checked,
        declared,
        places: HashMap::new(),
        variables: Vec::new(),
        sizes: HashMap::new(),
        entries: HashMap::new(),
    };
    estimate.cost(&checked.expression).max
}

/// The sizes of the keys and values of a list or map.
#[derive(Clone, Copy)]
pub(super) struct Entries {
    is_list: bool,
    key: Range,
    pub(super) value: Range,
}

impl Entries {
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            is_list: self.is_list,
            key: self.key.or(other.key),
            value: self.value.or(other.value),
        }
    }
}

/// What is known about a variable of a macro.
#[derive(Clone)]
struct Variable {
    name: String,
    place: Option<Place>,
    size: Option<Range>,
    entries: Option<Entries>,
}

pub(super) struct Estimate<'a> {
    pub(super) checked: &'a Checked,
    declared: &'a Declared,
    places: HashMap<u64, Place>,
    variables: Vec<Variable>,
    sizes: HashMap<u64, Range>,
    entries: HashMap<u64, Entries>,
}

impl<'a> Estimate<'a> {
    fn cost(&mut self, expression: &'a IdedExpr) -> Range {
        match &expression.expr {
            Expr::Literal(_) | Expr::Unspecified | Expr::Struct(_) => Range::ZERO,
            Expr::Ident(name) => {
                let place = match self.variable(name) {
                    Some(variable) => variable.place.clone(),
                    None => Some([name.as_str().into()].into()),
                };
                if let Some(place) = place {
                    self.places.insert(expression.id, place);
                }
                Range::of(1)
            }
            Expr::Select(select) => {
                let operand = self.cost(&select.operand);
                if select.test {
                    return operand;
                }
                if let Some(place) = self.place(&select.operand) {
                    let place = below(&place, &select.field);
                    self.places.insert(expression.id, place);
                }
                match self.checked.type_of(&select.operand) {
                    Type::Made(made) if made.name != types::MAP => operand,
                    Type::Object(_) | Type::Made(_) | Type::Library(_) => {
                        operand.plus(Range::of(1))
                    }
                    _ => operand,
                }
            }
            Expr::Call(call) => self.call(expression, call),
            Expr::List(list) => {
                let mut sum = Range::of(LIST);
                let mut value: Option<Range> = None;
                for item in &list.elements {
                    sum = sum.plus(self.cost(item));
                    let size = self.size_or_unknown(item);
                    value = Some(value.map_or(size, |value| value.or(size)));
                }
                let entries = Entries {
                    is_list: true,
                    key: Range::of(1),
                    value: value.unwrap_or(Range::ZERO),
                };
                self.entries.insert(expression.id, entries);
                sum
            }
            Expr::Map(map) => {
                let mut sum = Range::of(MAP);
                let mut sizes: Option<(Range, Range)> = None;
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else {
                        continue;
                    };
                    sum = sum
                        .plus(self.cost(&entry.key))
                        .plus(self.cost(&entry.value));
                    let key = self.size_or_unknown(&entry.key);
                    let value = self.size_or_unknown(&entry.value);
                    sizes = Some(sizes.map_or((key, value), |(k, v)| (k.or(key), v.or(value))));
                }
                let (key, value) = sizes.unwrap_or((Range::ZERO, Range::ZERO));
                let entries = Entries {
                    is_list: false,
                    key,
                    value,
                };
                self.entries.insert(expression.id, entries);
                sum
            }
            Expr::Comprehension(all) if is_binding(all) => self.binding(expression, all),
            Expr::Comprehension(all) => self.comprehension(expression, all),
        }
    }

    fn call(&mut self, expression: &'a IdedExpr, call: &'a CallExpr) -> Range {
        if call.func_name == "dyn"
            && let [argument] = call.args.as_slice()
        {
            let cost = self.cost(argument).plus(Range::of(1));
            self.copy_sizes(expression, argument);
            return cost;
        }
        let costs: Vec<Range> = call
            .args
            .iter()
            .map(|argument| self.cost(argument))
            .collect();
        let overloads = self.checked.overloads.get(&expression.id);
        let Some(overloads) = overloads.filter(|overloads| !overloads.is_empty()) else {
            return Range::ZERO;
        };
        let receiver = call.target.as_deref().map_or(Range::ZERO, |t| self.cost(t));
        let mut cost: Option<Range> = None;
        let mut size: Option<Range> = None;
        for overload in overloads {
            let (one, result) = self.call_cost(expression, call, overload, &costs);
            cost = Some(cost.map_or(one, |cost| cost.or(one)));
            size = match (size, result) {
                (Some(size), Some(result)) => Some(size.or(result)),
                (size, result) => size.or(result),
            };
            let part = match *overload {
                "index_list" => Some(ITEMS),
                "index_map" => Some(VALUES),
                _ => None,
            };
            if let (Some(part), Some(container)) = (part, call.args.first()) {
                size = self.entries(container).map(|entries| entries.value);
                if let Some(place) = self.place(container) {
                    self.places.insert(expression.id, below(&place, part));
                }
            }
            size = size.or_else(|| self.size(expression));
        }
        self.set_size(expression, size);
        receiver.plus(cost.unwrap_or(Range::ZERO))
    }

    /// `cel.bind`: the variable has the value of an expression, and there is no loop.
    fn binding(&mut self, expression: &'a IdedExpr, all: &'a ComprehensionExpr) -> Range {
        let mut sum = self.cost(&all.iter_range).plus(self.cost(&all.accu_init));
        self.push_result(all);
        sum = sum.plus(self.cost(&all.result));
        self.variables.pop();
        self.copy_sizes(expression, &all.result);
        sum
    }

    fn comprehension(&mut self, expression: &'a IdedExpr, all: &'a ComprehensionExpr) -> Range {
        let mut sum = self.cost(&all.iter_range).plus(self.cost(&all.accu_init));
        self.push_result(all);
        let before = self.variables.len();
        self.push_loop(all);
        let one = self.cost(&all.loop_cond).plus(self.cost(&all.loop_step));
        self.variables.truncate(before);
        sum = sum.plus(self.cost(&all.result));
        self.variables.pop();
        let times = self.size_or_unknown(&all.iter_range);
        sum = sum.plus(times.times(one));
        match &all.accu_init.expr {
            Expr::Literal(_) => {
                let size = self.size(&all.accu_init);
                self.set_size(expression, size);
            }
            Expr::List(_) | Expr::Map(_) => {
                self.set_size(expression, Some(times));
                if let Some(entries) = self.entries(&all.loop_step) {
                    self.entries.insert(expression.id, entries);
                }
            }
            _ => {}
        }
        sum
    }

    fn push_result(&mut self, all: &'a ComprehensionExpr) {
        let variable = Variable {
            name: all.accu_var.clone(),
            place: self.place(&all.accu_init),
            size: self.size(&all.accu_init),
            entries: self.entries(&all.accu_init),
        };
        self.variables.push(variable);
    }

    fn push_loop(&mut self, all: &'a ComprehensionExpr) {
        let range = &all.iter_range;
        let entries = self.entries(range);
        let is_list = match entries {
            Some(entries) => entries.is_list,
            None => self
                .checked
                .type_of(range)
                .parameters(types::LIST)
                .is_some(),
        };
        let place = self.place(range);
        let mut push = |name: &String, part: &str, size: Option<Range>| {
            self.variables.push(Variable {
                name: name.clone(),
                place: place.as_ref().map(|place| below(place, part)),
                size,
                entries: None,
            });
        };
        let key = entries.map(|entries| entries.key);
        let value = entries.map(|entries| entries.value);
        match &all.iter_var2 {
            Some(second) => {
                push(&all.iter_var, if is_list { INDICES } else { KEYS }, key);
                push(second, if is_list { ITEMS } else { VALUES }, value);
            }
            None if is_list => push(&all.iter_var, ITEMS, value),
            None => push(&all.iter_var, KEYS, key),
        }
    }

    fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().rev().find(|v| v.name == name)
    }

    /// The place of a value below a variable of the rule.
    pub(super) fn place(&self, expression: &IdedExpr) -> Option<Place> {
        if let Expr::Ident(name) = &expression.expr
            && let Some(variable) = self.variable(name)
        {
            return variable.place.clone();
        }
        self.places.get(&expression.id).cloned()
    }

    pub(super) fn size_or_unknown(&mut self, expression: &IdedExpr) -> Range {
        self.size(expression).unwrap_or(Range::UNKNOWN)
    }

    /// The size of a value.
    pub(super) fn size(&mut self, expression: &IdedExpr) -> Option<Range> {
        if let Some(size) = self.sizes.get(&expression.id) {
            return Some(*size);
        }
        if let Some(size) = written(&expression.expr) {
            return Some(Range::of(size));
        }
        let place = self.place(expression);
        if let Some(size) = place.and_then(|place| declared(self.declared, &place)) {
            self.sizes.insert(expression.id, size);
            return Some(size);
        }
        if let Some(size) = fixed(self.checked.type_of(expression)) {
            return Some(size);
        }
        match &expression.expr {
            Expr::Ident(name) => self.variable(name)?.size,
            _ => None,
        }
    }

    /// The size of the items of a list, by their place in the schema.
    pub(super) fn item_size(&self, list: &IdedExpr) -> Range {
        let place = self.place(list).map(|place| below(&place, ITEMS));
        let size = place.and_then(|place| declared(self.declared, &place));
        size.unwrap_or(Range::UNKNOWN)
    }

    pub(super) fn entries(&self, expression: &IdedExpr) -> Option<Entries> {
        let known = self.entries.get(&expression.id).copied();
        known.or_else(|| match &expression.expr {
            Expr::Ident(name) => self.variable(name)?.entries,
            _ => None,
        })
    }

    pub(super) fn set_entries(&mut self, expression: &IdedExpr, entries: Option<Entries>) {
        if let Some(entries) = entries {
            self.entries.insert(expression.id, entries);
        }
    }

    fn set_size(&mut self, expression: &IdedExpr, size: Option<Range>) {
        if let Some(size) = size {
            self.sizes.insert(expression.id, size);
        }
    }

    fn copy_sizes(&mut self, to: &IdedExpr, from: &IdedExpr) {
        let size = self.size(from);
        self.set_size(to, size);
        let entries = self.entries(from);
        self.set_entries(to, entries);
    }
}

fn is_binding(all: &ComprehensionExpr) -> bool {
    let is_empty = matches!(&all.iter_range.expr, Expr::List(list) if list.elements.is_empty());
    let ends =
        matches!(&all.loop_cond.expr, Expr::Literal(LiteralValue::Boolean(b)) if !*b.inner());
    is_empty && ends && all.accu_var != "@result"
}

/// The size of a value that is written in the expression.
fn written(expression: &Expr) -> Option<u64> {
    Some(match expression {
        Expr::Literal(LiteralValue::String(text)) => text.inner().chars().count() as u64,
        Expr::Literal(LiteralValue::Bytes(bytes)) => bytes.inner().len() as u64,
        Expr::Literal(_) => 1,
        Expr::List(list) => list.elements.len() as u64,
        Expr::Map(map) => map.entries.len() as u64,
        _ => return None,
    })
}
