use std::sync::Arc;

use cel::common::ast::{CallExpr, Expr, IdedExpr, operators};
use cel::objects::Key;
use cel::{Context, Value};

use super::errors::{Result, Stopped};
use super::evaluation::{Evaluation, RESULT, find, shown};
use super::operators::{arithmetic, compare, negate, type_value};
use crate::schema::cel::made::MadeObject;
use crate::schema::cel::values::{as_optional, length, optional, type_name};
use crate::schema::cel::{authorizer, compile, cost, library};

/// The largest text that a function may make, in bytes.
const LONGEST: usize = 16 << 20;

/// The function that adds an entry to the map of a macro.
pub(in crate::schema::cel) const MAP_INSERT: &str = "cel.@mapInsert";

/// The functions that do not visit what is inside of their arguments.
const SHALLOW: [&str; 19] = [
    "size",
    "type",
    "dyn",
    "hasValue",
    "value",
    "first",
    "last",
    "slice",
    "reverse",
    "optional.of",
    "optional.ofNonZeroValue",
    "optional.none",
    "optional.unwrap",
    "unwrapOpt",
    "_+_",
    "@in",
    "!_",
    "lists.range",
    MAP_INSERT,
];

impl<'a> Evaluation<'a> {
    pub(super) fn call(&mut self, id: u64, call: &'a CallExpr) -> Result<Value> {
        let function = call.func_name.as_str();
        match (function, call.args.as_slice()) {
            (operators::LOGICAL_AND, [left, right]) => return self.logical(left, right, false),
            (operators::LOGICAL_OR, [left, right]) => return self.logical(left, right, true),
            (operators::NOT_STRICTLY_FALSE, [argument]) => {
                let value = self.value(argument);
                self.charge(1)?;
                return match value {
                    Err(Stopped::TooExpensive) => Err(Stopped::TooExpensive),
                    Ok(Value::Bool(value)) => Ok(Value::Bool(value)),
                    _ => Ok(Value::Bool(true)),
                };
            }
            ("or" | "orValue", [other]) => return self.alternative(call, other),
            (operators::ADD, [left, right]) if is_result(left) => {
                self.charge(2)?;
                let right = self.value(right)?;
                let left = self.take_result()?;
                return arithmetic(operators::ADD, left, right);
            }
            (MAP_INSERT, [map, rest @ ..]) if is_result(map) => {
                self.charge(2)?;
                let rest: Result<Vec<Value>> = rest.iter().map(|part| self.value(part)).collect();
                let rest = rest?;
                let map = self.take_result()?;
                return insert(map, rest);
            }
            (operators::IN, [item, list]) => {
                if let Some(Value::List(items)) = self.constants.get(&list.id) {
                    return self.in_constants(id, item, items);
                }
            }
            _ => {}
        }
        let mut arguments = Vec::with_capacity(call.args.len() + 1);
        for part in call.target.as_deref().into_iter().chain(&call.args) {
            arguments.push(self.value(part)?);
        }
        let overload = match self.overloads.get(&id).map(Vec::as_slice) {
            Some([only]) => only,
            _ => "",
        };
        self.check_size(function, &arguments)?;
        let result = self.apply(function, overload, call.target.is_some(), &arguments);
        let cost = cost::of_call(function, overload, &arguments, result.as_ref().ok());
        self.charge(cost)?;
        result
    }

    /// `&&`, which `false` decides, or `||`, which `true` decides.
    fn logical(&mut self, left: &'a IdedExpr, right: &'a IdedExpr, decides: bool) -> Result<Value> {
        let left = self.value(left);
        if matches!(&left, Ok(Value::Bool(value)) if *value == decides) {
            return left;
        }
        if left == Err(Stopped::TooExpensive) {
            return left;
        }
        let right = self.value(right);
        match (left, right) {
            (_, Err(Stopped::TooExpensive)) => Err(Stopped::TooExpensive),
            (_, Ok(Value::Bool(value))) if value == decides => Ok(Value::Bool(decides)),
            (Err(failed), _) | (_, Err(failed)) => Err(failed),
            (Ok(Value::Bool(_)), Ok(Value::Bool(value))) => Ok(Value::Bool(value)),
            _ => Err(Stopped::no_overload()),
        }
    }

    /// `or` and `orValue`, whose argument is needed only if there is no value.
    fn alternative(&mut self, call: &'a CallExpr, other: &'a IdedExpr) -> Result<Value> {
        let Some(target) = &call.target else {
            return Err(Stopped::no_overload());
        };
        let target = self.value(target)?;
        match as_optional(&target) {
            Some(None) => self.value(other),
            Some(Some(inner)) if call.func_name == "orValue" => Ok(inner.clone()),
            Some(Some(_)) => Ok(target),
            None => Err(Stopped::no_overload()),
        }
    }

    /// `in` with a list of constants, in which a server looks up without a cost.
    fn in_constants(&mut self, id: u64, item: &'a IdedExpr, items: &[Value]) -> Result<Value> {
        if items.is_empty() {
            return Ok(Value::Bool(false));
        }
        let item = self.value(item)?;
        let is_set = items.iter().all(|item| {
            !matches!(
                item,
                Value::List(_) | Value::Map(_) | Value::Bytes(_) | Value::Opaque(_)
            )
        });
        let is_list = self
            .overloads
            .get(&id)
            .is_some_and(|o| o.as_slice() == ["in_list"]);
        if !is_set || !is_list {
            self.charge(items.len() as u64)?;
        }
        self.visit(&item)?;
        Ok(Value::Bool(items.contains(&item)))
    }

    /// Stops before a function visits or makes too much.
    fn check_size(&mut self, function: &str, arguments: &[Value]) -> Result<()> {
        if !SHALLOW.contains(&function) {
            arguments.iter().try_for_each(|value| self.visit(value))?;
        }
        let bytes = |value: &Value| match value {
            Value::String(text) => text.len(),
            _ => 16,
        };
        let made = match (function, arguments) {
            ("lists.range", [Value::Int(n)]) => {
                let room = self.limit.saturating_sub(self.cost);
                return match u64::try_from(*n) {
                    Ok(n) if n > room => Err(Stopped::TooExpensive),
                    _ => Ok(()),
                };
            }
            ("_+_", [Value::List(left), Value::List(right)]) => {
                return self.visit_many((left.len() + right.len()) as u64);
            }
            ("@in", [item, Value::List(items)]) => {
                self.visit(item)?;
                return self.visit_many(items.len() as u64);
            }
            ("replace", [Value::String(text), Value::String(from), to, ..]) => {
                let count = match from.is_empty() {
                    true => text.len() + 1,
                    false => text.matches(from.as_str()).count(),
                };
                count.saturating_mul(bytes(to)).saturating_add(text.len())
            }
            ("join", [Value::List(items), rest @ ..]) => {
                let separator = rest.first().map_or(0, bytes);
                let sizes = items
                    .iter()
                    .map(|item| bytes(item).saturating_add(separator));
                sizes.fold(0, usize::saturating_add)
            }
            ("format", [text, Value::List(items)]) => {
                let sizes = items.iter().map(bytes);
                sizes.fold(bytes(text), usize::saturating_add)
            }
            ("_+_", [left, right]) => bytes(left).saturating_add(bytes(right)),
            _ => 0,
        };
        match made > LONGEST {
            true => Err(Stopped::TooExpensive),
            false => Ok(()),
        }
    }

    fn apply(
        &mut self,
        function: &str,
        overload: &str,
        is_method: bool,
        arguments: &[Value],
    ) -> Result<Value> {
        match (function, arguments) {
            ("_==_", [left, right]) => Ok(Value::Bool(left == right)),
            ("_!=_", [left, right]) => Ok(Value::Bool(left != right)),
            ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [left, right]) => {
                arithmetic(function, left.clone(), right.clone())
            }
            ("_<_" | "_<=_" | "_>_" | "_>=_", [left, right]) => compare(function, left, right),
            ("-_", [value]) => negate(value),
            ("!_", [Value::Bool(value)]) => Ok(Value::Bool(!value)),
            ("@in", [item, Value::List(items)]) => Ok(Value::Bool(items.contains(item))),
            ("@in", [key, Value::Map(map)]) => Ok(Value::Bool(find(map, key).is_some())),
            ("size", [value]) => match length(value) {
                Some(size) => Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX))),
                None => Err(Stopped::no_overload()),
            },
            ("type", [value]) => Ok(type_value(type_name(value))),
            ("dyn", [value]) => Ok(value.clone()),
            ("sum", [Value::List(items)]) if items.is_empty() => Ok(match overload {
                "list_uint_sum_uint" => Value::UInt(0),
                "list_double_sum_double" => Value::Float(0.0),
                "list_duration_sum_duration" => library::duration("0s").unwrap_or(Value::Int(0)),
                _ => Value::Int(0),
            }),
            ("lists.range", [Value::Int(n)]) => {
                let numbers = (0..*n).map(Value::Int);
                Ok(Value::List(numbers.collect::<Vec<_>>().into()))
            }
            ("slice", [Value::List(items), Value::Int(start), Value::Int(end)]) => {
                slice(items, *start, *end)
            }
            ("reverse", [Value::List(items)]) => {
                self.visit_many(items.len() as u64)?;
                let items = items.iter().rev().cloned();
                Ok(Value::List(items.collect::<Vec<_>>().into()))
            }
            ("first", [Value::List(items)]) => Ok(optional(items.first().cloned())),
            ("last", [Value::List(items)]) => Ok(optional(items.last().cloned())),
            ("optional.of", [value]) => Ok(optional(Some(value.clone()))),
            ("optional.ofNonZeroValue", [value]) => {
                let is_zero = match MadeObject::of(value) {
                    Some(object) => object.fields.is_empty(),
                    None => value.is_zero(),
                };
                Ok(optional((!is_zero).then(|| value.clone())))
            }
            ("optional.none", []) => Ok(optional(None)),
            ("hasValue", [value]) => match as_optional(value) {
                Some(inner) => Ok(Value::Bool(inner.is_some())),
                None => Err(Stopped::no_overload()),
            },
            ("value", [value]) => match as_optional(value) {
                Some(Some(inner)) => Ok(inner.clone()),
                Some(None) => Err(Stopped::failed("optional.none() dereference")),
                None => Err(Stopped::no_overload()),
            },
            ("optional.unwrap" | "unwrapOpt", [Value::List(items)]) => {
                self.visit_many(items.len() as u64)?;
                let present = items.iter().filter_map(|item| as_optional(item).flatten());
                Ok(Value::List(present.cloned().collect::<Vec<_>>().into()))
            }
            ("jsonpatch.escapeKey", [Value::String(key)]) => {
                let escaped = key.replace('~', "~0").replace('/', "~1");
                Ok(Value::String(Arc::new(escaped)))
            }
            ("!_", _) => Err(Stopped::no_overload()),
            _ if let Some(result) = authorizer::call(function, arguments) => result,
            _ => registered(function, is_method, arguments)
                .map_err(|stopped| not_converted(function, arguments).unwrap_or(stopped)),
        }
    }
}

/// The error of a text that is no such value.
fn not_converted(function: &str, arguments: &[Value]) -> Option<Stopped> {
    let to = match (function, arguments) {
        ("int" | "uint" | "double" | "bool", [Value::String(_)]) => function,
        ("duration", [Value::String(_)]) => "google.protobuf.Duration",
        ("timestamp", [Value::String(_)]) => "google.protobuf.Timestamp",
        _ => return None,
    };
    let text = format!("type conversion error from 'string' to '{to}'");
    Some(Stopped::Failed(text))
}

fn is_result(expression: &IdedExpr) -> bool {
    matches!(&expression.expr, Expr::Ident(name) if name == RESULT)
}

fn slice(items: &[Value], start: i64, end: i64) -> Result<Value> {
    let wrong = |why: String| Stopped::failed(format!("cannot slice({start}, {end}), {why}"));
    let (Ok(from), Ok(to)) = (usize::try_from(start), usize::try_from(end)) else {
        return Err(wrong("negative indexes not supported".into()));
    };
    if from > to {
        let why = "start index must be less than or equal to end index";
        return Err(wrong(why.into()));
    }
    match items.get(from..to) {
        Some(items) => Ok(Value::List(items.to_vec().into())),
        None => Err(wrong(format!("list is length {}", items.len()))),
    }
}

/// Adds an entry, or the entries of a map, to the map of a macro.
fn insert(map: Value, rest: Vec<Value>) -> Result<Value> {
    let Value::Map(mut map) = map else {
        return Err(Stopped::no_overload());
    };
    let entries: Vec<(Value, Value)> = match rest.as_slice() {
        [Value::Map(more)] => {
            let entries = more.map.iter();
            entries.map(|(k, v)| (k.into(), v.clone())).collect()
        }
        [key, value] => vec![(key.clone(), value.clone())],
        _ => return Err(Stopped::no_overload()),
    };
    let into = Arc::make_mut(&mut map.map);
    for (key, value) in entries {
        let name = shown(&key);
        let key: Key = key.try_into().map_err(|_| Stopped::no_overload())?;
        if into.contains_key(&key) {
            return Err(Stopped::failed(format!(
                "insert failed: key {name} already exists"
            )));
        }
        into.insert(key, value);
    }
    Ok(Value::Map(map))
}

/// Calls a function of the `cel` crate or of this crate's library.
fn registered(function: &str, is_method: bool, arguments: &[Value]) -> Result<Value> {
    let mut context = Context::with_env(compile::env().clone());
    let mut parts = Vec::with_capacity(arguments.len());
    for (i, argument) in arguments.iter().enumerate() {
        let name = format!("@{i}");
        context.add_variable_from_value(name.as_str(), argument.clone());
        parts.push(IdedExpr {
            id: 0,
            expr: Expr::Ident(name),
        });
    }
    let target = (is_method && !parts.is_empty()).then(|| Box::new(parts.remove(0)));
    let call = IdedExpr {
        id: 0,
        expr: Expr::Call(CallExpr {
            func_name: function.to_owned(),
            target,
            args: parts,
        }),
    };
    Ok(Value::resolve(&call, &context)?)
}
