use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cel::common::ast::{
    ComprehensionExpr, EntryExpr, Expr, ListExpr, LiteralValue, MapExpr, SelectExpr, StructExpr,
    operators,
};
use cel::objects::{Key, Map};
use cel::{IdedExpr, Value};

use super::constants::Constants;
use super::errors::{Result, Stopped};
use super::operators::type_value;
use crate::schema::cel::check::named_type;
use crate::schema::cel::cost;
use crate::schema::cel::made::MadeObject;
use crate::schema::cel::values::{as_optional, optional, type_name};

/// The variable in which the macros of the parser collect their result.
pub(super) const RESULT: &str = "@result";

/// The values that one evaluation may visit in operations whose cost does not count them: a value may hold another one many
/// times, and then be much larger than what it cost to make it.
const MOST_VISITED: u64 = 30_000_000;

/// A variable of an expression. Its value may be an error until it is used.
pub(in crate::schema::cel) type Variable<'a> = (&'a str, Result<Value>);

/// What came of an evaluation.
pub(in crate::schema) struct Outcome {
    pub(in crate::schema) result: Result<Value>,
    pub(in crate::schema) cost: u64,
}

/// One evaluation.
pub(in crate::schema::cel) struct Evaluation<'a> {
    pub(super) overloads: &'a HashMap<u64, Vec<&'static str>>,
    pub(super) constants: &'a Constants,
    /// The variables; the last of a name hides the others.
    scope: Vec<Variable<'a>>,
    pub(super) cost: u64,
    pub(super) limit: u64,
    visited: u64,
}

impl<'a> Evaluation<'a> {
    pub(in crate::schema::cel) fn new(
        overloads: &'a HashMap<u64, Vec<&'static str>>,
        constants: &'a Constants,
        variables: Vec<Variable<'a>>,
        limit: u64,
    ) -> Self {
        Self {
            overloads,
            constants,
            scope: variables,
            cost: 0,
            limit,
            visited: 0,
        }
    }

    pub(in crate::schema::cel) fn run(mut self, expression: &'a IdedExpr) -> Outcome {
        let result = self.value(expression);
        Outcome {
            result,
            cost: self.cost,
        }
    }

    /// Evaluates an expression even if it is constant.
    pub(super) fn evaluate(&mut self, expression: &'a IdedExpr) -> Result<Value> {
        match &expression.expr {
            _ if is_attribute(expression) => {
                if !is_conditional(root(expression))
                    && !is_test(expression)
                    && !self.is_type(expression)
                {
                    self.charge(1)?;
                }
                self.attribute(expression)
            }
            Expr::Literal(value) => Ok(literal(value)),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Struct(literal) => self.made(literal),
            Expr::Call(call) => self.call(expression.id, call),
            Expr::Comprehension(all) => self.comprehension(all),
            _ => Err(Stopped::failed("unsupported expression")),
        }
    }

    pub(super) fn value(&mut self, expression: &'a IdedExpr) -> Result<Value> {
        match self.constants.get(&expression.id) {
            Some(constant) => Ok(constant.clone()),
            None => self.evaluate(expression),
        }
    }

    pub(super) fn charge(&mut self, cost: u64) -> Result<()> {
        self.cost = self.cost.saturating_add(cost);
        match self.cost > self.limit {
            true => Err(Stopped::TooExpensive),
            false => Ok(()),
        }
    }

    /// Counts the values inside of a value before something visits them all.
    pub(super) fn visit(&mut self, value: &Value) -> Result<()> {
        self.visit_many(1)?;
        match value {
            Value::List(items) => items.iter().try_for_each(|item| self.visit(item)),
            Value::Map(map) => map.map.values().try_for_each(|value| self.visit(value)),
            other => match as_optional(other) {
                Some(Some(inner)) => self.visit(inner),
                _ => Ok(()),
            },
        }
    }

    pub(super) fn visit_many(&mut self, count: u64) -> Result<()> {
        self.visited = self.visited.saturating_add(count);
        match self.visited > MOST_VISITED {
            true => Err(Stopped::TooExpensive),
            false => Ok(()),
        }
    }

    /// The value at the end of a chain of fields and indexes. Each step costs one; the whole costs one more, but not if it is a branch of a
    /// condition or the beginning of a longer chain.
    pub(super) fn attribute(&mut self, expression: &'a IdedExpr) -> Result<Value> {
        match &expression.expr {
            Expr::Ident(name) => self.variable(name),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) if call.func_name == operators::CONDITIONAL => {
                let [condition, yes, no] = call.args.as_slice() else {
                    return Err(Stopped::no_overload());
                };
                match self.value(condition)? {
                    Value::Bool(true) => self.beginning(yes),
                    Value::Bool(false) => self.beginning(no),
                    _ => Err(Stopped::no_overload()),
                }
            }
            Expr::Call(call) => {
                let [container, index] = call.args.as_slice() else {
                    return Err(Stopped::no_overload());
                };
                let container = self.beginning(container)?;
                let index = self.beginning(index)?;
                let is_optional = call.func_name != operators::INDEX;
                self.charge(1)?;
                step(&container, is_optional, |value| get(value, &index))
            }
            _ => Err(Stopped::no_overload()),
        }
    }

    /// The value before a step.
    fn beginning(&mut self, expression: &'a IdedExpr) -> Result<Value> {
        match self.constants.get(&expression.id) {
            Some(constant) => Ok(constant.clone()),
            None if is_attribute(expression) => self.attribute(expression),
            None => self.evaluate(expression),
        }
    }

    fn select(&mut self, select: &'a SelectExpr) -> Result<Value> {
        let operand = self.beginning(&select.operand)?;
        self.charge(1)?;
        let field = |value: &Value| match value {
            Value::Map(map) => Ok(find_text(map, &select.field).cloned()),
            other => match MadeObject::of(other) {
                Some(object) => Ok(object.fields.get(&select.field).cloned()),
                None => Err(Stopped::no_overload()),
            },
        };
        if !select.test {
            let key = &select.field;
            return step(&operand, false, |value| {
                field(value)?.ok_or_else(|| Stopped::no_key(key))
            });
        }
        let inner = match as_optional(&operand) {
            Some(None) => return Ok(Value::Bool(false)),
            Some(Some(inner)) => inner,
            None => &operand,
        };
        Ok(Value::Bool(field(inner)?.is_some()))
    }

    /// Whether an expression is the name of a type and no variable.
    fn is_type(&self, expression: &IdedExpr) -> bool {
        match &expression.expr {
            Expr::Ident(name) => {
                named_type(name).is_some() && !self.scope.iter().any(|(known, _)| known == name)
            }
            _ => false,
        }
    }

    fn variable(&mut self, name: &str) -> Result<Value> {
        let name = name.strip_prefix('.').unwrap_or(name);
        match self.scope.iter().rev().find(|(known, _)| *known == name) {
            Some((_, value)) => value.clone(),
            None if named_type(name).is_some() => Ok(type_value(name)),
            None => Err(Stopped::failed(format!("no such attribute(s): {name}"))),
        }
    }

    /// Takes the result of the innermost macro, which is replaced next.
    ///
    /// A list that nothing else refers to grows in place.
    pub(super) fn take_result(&mut self) -> Result<Value> {
        let found = self
            .scope
            .iter_mut()
            .rev()
            .find(|(name, _)| *name == RESULT);
        match found {
            Some((_, value)) => std::mem::replace(value, Ok(Value::Null)),
            None => Err(Stopped::no_overload()),
        }
    }

    fn list(&mut self, list: &'a ListExpr) -> Result<Value> {
        let mut items = Vec::with_capacity(list.elements.len());
        for (i, item) in list.elements.iter().enumerate() {
            let value = self.value(item)?;
            if !list.optional_indices.contains(&i) {
                items.push(value);
            } else if let Some(present) = as_optional(&value) {
                items.extend(present.cloned());
            } else {
                return Err(Stopped::no_overload());
            }
        }
        self.charge(cost::LIST)?;
        Ok(Value::List(items.into()))
    }

    fn map(&mut self, map: &'a MapExpr) -> Result<Value> {
        let mut entries = Vec::with_capacity(map.entries.len());
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                return Err(Stopped::no_overload());
            };
            let key = self.value(&entry.key)?;
            let value = self.value(&entry.value)?;
            if !entry.optional {
                entries.push((key, value));
            } else if let Some(present) = as_optional(&value) {
                entries.extend(present.cloned().map(|value| (key, value)));
            } else {
                return Err(Stopped::no_overload());
            }
        }
        self.charge(cost::MAP)?;
        entry_map(entries)
    }

    fn made(&mut self, literal: &'a StructExpr) -> Result<Value> {
        let mut fields = BTreeMap::new();
        for entry in &literal.entries {
            let EntryExpr::StructField(field) = &entry.expr else {
                return Err(Stopped::no_overload());
            };
            let value = self.value(&field.value)?;
            if !field.optional {
                fields.insert(field.field.clone(), value);
            } else if let Some(present) = as_optional(&value) {
                fields.extend(present.cloned().map(|value| (field.field.clone(), value)));
            } else {
                return Err(Stopped::no_overload());
            }
        }
        self.charge(cost::OBJECT)?;
        let name = literal.type_name.clone();
        Ok(MadeObject { name, fields }.into_value())
    }

    fn comprehension(&mut self, all: &'a ComprehensionExpr) -> Result<Value> {
        let before = self.scope.len();
        let result = self.fold(all);
        self.scope.truncate(before);
        result
    }

    fn fold(&mut self, all: &'a ComprehensionExpr) -> Result<Value> {
        let range = self.value(&all.iter_range)?;
        let first = self.value(&all.accu_init)?;
        let at = self.scope.len();
        self.scope.push((&all.accu_var, Ok(first)));
        match &range {
            Value::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    let index = || Value::Int(i64::try_from(i).unwrap_or(i64::MAX));
                    let goes_on = match &all.iter_var2 {
                        Some(second) => {
                            let second = (second.as_str(), item.clone());
                            self.turn(all, at, index(), Some(second))?
                        }
                        None => self.turn(all, at, item.clone(), None)?,
                    };
                    if !goes_on {
                        break;
                    }
                }
            }
            Value::Map(map) => {
                let mut keys: Vec<&Key> = map.map.keys().collect();
                keys.sort();
                for key in keys {
                    let second = all.iter_var2.as_deref();
                    let second = second.zip(map.map.get(key).cloned());
                    if !self.turn(all, at, key.into(), second)? {
                        break;
                    }
                }
            }
            _ => return Err(Stopped::no_overload()),
        }
        self.value(&all.result)
    }

    /// Runs a loop once. Returns whether it goes on.
    fn turn(
        &mut self,
        all: &'a ComprehensionExpr,
        at: usize,
        first: Value,
        second: Option<(&'a str, Value)>,
    ) -> Result<bool> {
        self.scope.push((&all.iter_var, Ok(first)));
        self.scope
            .extend(second.map(|(name, value)| (name, Ok(value))));
        let goes_on = match self.value(&all.loop_cond) {
            Err(Stopped::TooExpensive) => return Err(Stopped::TooExpensive),
            Ok(Value::Bool(false)) => false,
            _ => true,
        };
        if goes_on {
            let next = self.value(&all.loop_step);
            if next == Err(Stopped::TooExpensive) {
                return Err(Stopped::TooExpensive);
            }
            if let Some((_, result)) = self.scope.get_mut(at) {
                *result = next;
            }
        }
        self.scope.truncate(at + 1);
        Ok(goes_on)
    }
}

/// The first part of a chain.
fn root(expression: &IdedExpr) -> &IdedExpr {
    match &expression.expr {
        Expr::Select(select) => root(&select.operand),
        Expr::Call(call) if is_index(&call.func_name) => match call.args.first() {
            Some(container) => root(container),
            None => expression,
        },
        _ => expression,
    }
}

fn is_index(function: &str) -> bool {
    matches!(
        function,
        operators::INDEX | operators::OPT_INDEX | operators::OPT_SELECT
    )
}

fn is_attribute(expression: &IdedExpr) -> bool {
    match &expression.expr {
        Expr::Ident(_) | Expr::Select(_) => true,
        Expr::Call(call) => is_index(&call.func_name) || is_conditional(expression),
        _ => false,
    }
}

fn is_conditional(expression: &IdedExpr) -> bool {
    matches!(&expression.expr, Expr::Call(call) if call.func_name == operators::CONDITIONAL)
}

fn is_test(expression: &IdedExpr) -> bool {
    matches!(&expression.expr, Expr::Select(select) if select.test)
}

/// Takes a step from a value. From an optional value, or with `?`, the result is an optional value.
fn step(
    from: &Value,
    is_optional: bool,
    next: impl FnOnce(&Value) -> Result<Value>,
) -> Result<Value> {
    match as_optional(from) {
        Some(None) => Ok(optional(None)),
        Some(Some(inner)) => Ok(optional(next(inner).ok())),
        None if is_optional => Ok(optional(next(from).ok())),
        None => next(from),
    }
}

/// The item of a list, or the value of a map.
fn get(container: &Value, index: &Value) -> Result<Value> {
    match container {
        Value::List(items) => {
            let place = match index {
                Value::Int(n) => *n,
                Value::UInt(n) => i64::try_from(*n).unwrap_or(i64::MAX),
                Value::Float(n) if n.fract() == 0.0 => *n as i64,
                _ => return Err(Stopped::no_overload()),
            };
            let item = usize::try_from(place).ok().and_then(|i| items.get(i));
            let item = item.cloned();
            item.ok_or_else(|| Stopped::failed(format!("index out of bounds: {place}")))
        }
        Value::Map(map) => {
            let found = find(map, index).cloned();
            found.ok_or_else(|| Stopped::no_key(shown(index)))
        }
        other if let (Some(object), Value::String(name)) = (MadeObject::of(other), index) => {
            let found = object.fields.get(name.as_str()).cloned();
            found.ok_or_else(|| Stopped::no_key(name))
        }
        _ => Err(Stopped::no_overload()),
    }
}

/// The value of a key. Numbers of different types may be the same key.
pub(super) fn find<'m>(map: &'m Map, key: &Value) -> Option<&'m Value> {
    let key: Key = match key {
        Value::Float(n) if n.fract() == 0.0 => Key::Int(*n as i64),
        other => other.clone().try_into().ok()?,
    };
    map.get(&key)
}

fn find_text<'m>(map: &'m Map, key: &str) -> Option<&'m Value> {
    map.get(&cel::objects::KeyRef::String(key))
}

pub(super) fn shown(key: &Value) -> String {
    match key {
        Value::String(text) => text.to_string(),
        Value::Int(n) => n.to_string(),
        Value::UInt(n) => n.to_string(),
        Value::Float(n) => n.to_string(),
        Value::Bool(b) => b.to_string(),
        other => type_name(other).to_owned(),
    }
}

/// A map of these entries.
pub(super) fn entry_map(entries: Vec<(Value, Value)>) -> Result<Value> {
    let mut map: HashMap<Key, Value> = HashMap::with_capacity(entries.len());
    for (key, value) in entries {
        let key: Key = key.try_into().map_err(|key: Value| {
            let name = type_name(&key);
            Stopped::failed(format!("unsupported key type: {name}"))
        })?;
        if map.contains_key(&key) {
            return Err(Stopped::failed(format!("Failed with repeated key: {key}")));
        }
        map.insert(key, value);
    }
    Ok(Value::Map(Map { map: Arc::new(map) }))
}

/// The value of a literal.
pub(super) fn literal(literal: &LiteralValue) -> Value {
    match literal {
        LiteralValue::Boolean(value) => Value::Bool(*value.inner()),
        LiteralValue::Bytes(value) => Value::Bytes(Arc::new(value.inner().to_vec())),
        LiteralValue::Double(value) => Value::Float(*value.inner()),
        LiteralValue::Int(value) => Value::Int(*value.inner()),
        LiteralValue::Null => Value::Null,
        LiteralValue::String(value) => Value::String(Arc::new(value.inner().to_owned())),
        LiteralValue::UInt(value) => Value::UInt(*value.inner()),
    }
}
