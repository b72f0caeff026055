use std::collections::HashMap;

use cel::common::ast::{
    ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr, SelectExpr,
    StructExpr, operators,
};

use super::issues::Issues;
use super::literals;
use super::overloads::named_type;
use super::unify::{Unifier, most_general};
use crate::schema::cel::compile::Parsed;
use crate::schema::cel::made;
use crate::schema::cel::types::{LIST, MAP, TYPE, Type};
use crate::schema::cel::walk::qualified;

/// A checked expression.
pub(in crate::schema::cel) struct Checked {
    /// The expression, in which calls of functions with a dotted name have no receiver.
    pub(in crate::schema::cel) expression: IdedExpr,
    /// The type of each part.
    pub(in crate::schema::cel) types: HashMap<u64, Type>,
    /// The overloads that each call may mean.
    pub(in crate::schema::cel) overloads: HashMap<u64, Vec<&'static str>>,
}

impl Checked {
    pub(in crate::schema::cel) fn type_of(&self, expression: &IdedExpr) -> &Type {
        self.types.get(&expression.id).unwrap_or(&Type::Dyn)
    }

    pub(in crate::schema::cel) fn result(&self) -> &Type {
        self.type_of(&self.expression)
    }
}

/// Checks an expression over these variables. Those of mutating policies also make objects and JSON patches.
///
/// # Errors
/// The text of the server's compiler.
pub(in crate::schema::cel) fn check(
    parsed: Parsed,
    variables: &[(&str, Type)],
    makes_patches: bool,
) -> Result<Checked, String> {
    let Parsed {
        mut expression,
        places,
    } = parsed;
    let variables = variables.iter();
    let mut checker = Checker {
        unifier: Unifier::default(),
        scope: variables
            .map(|(n, t)| ((*n).to_owned(), t.clone()))
            .collect(),
        types: HashMap::new(),
        overloads: HashMap::new(),
        issues: Issues::default(),
        makes_patches,
    };
    checker.check(&mut expression);
    let Checker {
        unifier,
        types,
        overloads,
        mut issues,
        ..
    } = checker;
    let types = types.into_iter();
    let checked = Checked {
        expression,
        types: types
            .map(|(id, t)| (id, unifier.substitute(&t, true)))
            .collect(),
        overloads,
    };
    if issues.is_empty() {
        literals::check(&checked, &mut issues);
    }
    match issues.is_empty() {
        true => Ok(checked),
        false => Err(issues.show(&places)),
    }
}

pub(super) struct Checker {
    pub(super) unifier: Unifier,
    /// The variables; the last of a name hides the others.
    scope: Vec<(String, Type)>,
    types: HashMap<u64, Type>,
    overloads: HashMap<u64, Vec<&'static str>>,
    pub(super) issues: Issues,
    /// Whether the expression may make objects and JSON patches.
    pub(super) makes_patches: bool,
}

impl Checker {
    pub(super) fn check(&mut self, expression: &mut IdedExpr) {
        let id = expression.id;
        // A dotted name may be that of a type.
        if let Expr::Select(_) = &expression.expr
            && let Some(name) = qualified(expression)
            && let Some(found) = self.lookup(&name)
        {
            expression.expr = Expr::Ident(name);
            self.types.insert(id, found);
            return;
        }
        let found = match &mut expression.expr {
            Expr::Unspecified => Type::Error,
            Expr::Literal(literal) => of_literal(literal),
            Expr::Ident(name) => self.ident(id, name),
            Expr::Select(select) => self.select(id, select),
            Expr::Call(call) if call.func_name == operators::OPT_SELECT => {
                self.optional_select(id, &mut call.args)
            }
            Expr::Call(call) => self.call(id, call),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Struct(literal) => self.made(id, literal),
            Expr::Comprehension(all) => self.comprehension(all),
        };
        self.types.insert(id, found);
    }

    /// The type of an expression that was checked before.
    pub(super) fn type_of(&self, expression: &IdedExpr) -> Type {
        self.types
            .get(&expression.id)
            .cloned()
            .unwrap_or(Type::Error)
    }

    pub(super) fn refer(&mut self, id: u64, overloads: Vec<&'static str>) {
        self.overloads.insert(id, overloads);
    }

    pub(super) fn undeclared(&mut self, id: u64, name: &str) -> Type {
        let text = format!("undeclared reference to '{name}' (in container '')");
        self.issues.add(id, text);
        Type::Error
    }

    fn lookup(&self, name: &str) -> Option<Type> {
        let name = name.strip_prefix('.').unwrap_or(name);
        let variable = self.scope.iter().rev().find(|(known, _)| known == name);
        match variable {
            Some((_, found)) => Some(found.clone()),
            None => named_type(name).map(|t| Type::made(TYPE, vec![t])),
        }
    }

    fn ident(&mut self, id: u64, name: &str) -> Type {
        match self.lookup(name) {
            Some(found) => found,
            None => self.undeclared(id, name),
        }
    }

    fn select(&mut self, id: u64, select: &mut SelectExpr) -> Type {
        let field = self.field(id, &mut select.operand, &select.field, false);
        match select.test {
            true => Type::Bool,
            false => self.unifier.substitute(&field, false),
        }
    }

    fn optional_select(&mut self, id: u64, arguments: &mut [IdedExpr]) -> Type {
        let [operand, field] = arguments else {
            return Type::Error;
        };
        let Expr::Literal(LiteralValue::String(name)) = &field.expr else {
            let text = "unsupported optional field selection".to_owned();
            self.issues.add(field.id, text);
            return Type::Error;
        };
        let name = name.inner().to_owned();
        self.types.insert(field.id, Type::String);
        let found = self.field(id, operand, &name, true);
        self.refer(id, vec!["select_optional_field"]);
        self.unifier.substitute(&found, false)
    }

    fn field(&mut self, id: u64, operand: &mut IdedExpr, field: &str, optional: bool) -> Type {
        self.check(operand);
        let operand = self.unifier.substitute(&self.type_of(operand), false);
        let (target, was_optional) = operand.unwrap_optional();
        let found = match &target {
            Type::Made(made) if made.name == MAP => made.parameters[1].clone(),
            Type::Object(object) => match object.fields.get(field) {
                Some(field) => field.kind.clone(),
                None => {
                    self.issues.add(id, format!("undefined field '{field}'"));
                    Type::Error
                }
            },
            Type::Patched(name) => made::field_type(name, field).unwrap_or_else(|| {
                self.issues.add(id, format!("undefined field '{field}'"));
                Type::Error
            }),
            Type::Library(name) => {
                let text = match name.starts_with("net.") {
                    true => format!("type '{name}' does not support field selection"),
                    false => format!("unexpected failed resolution of '{name}'"),
                };
                self.issues.add(id, text);
                Type::Error
            }
            Type::Variable(_) => {
                self.unifier.is_assignable(&Type::Dyn, &target);
                Type::Dyn
            }
            other => {
                if !other.is_dyn_or_error() {
                    let text = format!("type '{other}' does not support field selection");
                    self.issues.add(id, text);
                }
                Type::Dyn
            }
        };
        match was_optional || optional {
            true => Type::optional(found),
            false => found,
        }
    }

    fn list(&mut self, list: &mut ListExpr) -> Type {
        let mut items: Option<Type> = None;
        for (i, item) in list.elements.iter_mut().enumerate() {
            self.check(item);
            let mut found = self.type_of(item);
            if list.optional_indices.contains(&i) {
                found = self.present(item.id, found);
            }
            items = Some(self.join(items, found));
        }
        Type::list(items.unwrap_or_else(|| self.unifier.variable()))
    }

    fn map(&mut self, map: &mut MapExpr) -> Type {
        let (mut keys, mut values): (Option<Type>, Option<Type>) = (None, None);
        for entry in &mut map.entries {
            let EntryExpr::MapEntry(entry) = &mut entry.expr else {
                continue;
            };
            self.check(&mut entry.key);
            let key = self.type_of(&entry.key);
            keys = Some(self.join(keys, key));
            self.check(&mut entry.value);
            let mut value = self.type_of(&entry.value);
            if entry.optional {
                value = self.present(entry.value.id, value);
            }
            values = Some(self.join(values, value));
        }
        let keys = keys.unwrap_or_else(|| self.unifier.variable());
        let values = values.unwrap_or_else(|| self.unifier.variable());
        Type::map(keys, values)
    }

    /// An object or an operation of a JSON patch.
    fn made(&mut self, id: u64, literal: &mut StructExpr) -> Type {
        let name = literal.type_name.clone();
        let found = made::type_named(&name).filter(|_| self.makes_patches);
        let result = found.unwrap_or_else(|| self.undeclared(id, &name));
        for entry in &mut literal.entries {
            let entry_id = entry.id;
            let EntryExpr::StructField(field) = &mut entry.expr else {
                continue;
            };
            self.check(&mut field.value);
            if result == Type::Error {
                continue;
            }
            let Some(mut wanted) = made::field_type(&name, &field.field) else {
                let text = format!("undefined field '{}'", field.field);
                self.issues.add(entry_id, text);
                continue;
            };
            if field.optional {
                wanted = Type::optional(wanted);
            }
            let given = self.type_of(&field.value);
            if !self.unifier.is_assignable(&wanted, &given) {
                let name = &field.field;
                let given = self.unifier.substitute(&given, true);
                let text = format!(
                    "expected type of field '{name}' is '{wanted}' but provided type is '{given}'"
                );
                self.issues.add(entry_id, text);
            }
        }
        result
    }

    /// The type of the value of an optional entry.
    fn present(&mut self, id: u64, found: Type) -> Type {
        let (found, is_optional) = found.unwrap_optional();
        if !is_optional && found != Type::Dyn {
            self.mismatch(id, &Type::optional(found.clone()), &found);
        }
        found
    }

    /// The type of all items of a literal. Whether they may have different types is checked later.
    fn join(&mut self, before: Option<Type>, found: Type) -> Type {
        let Some(before) = before else {
            return found;
        };
        if self.unifier.is_assignable(&before, &found) {
            return most_general(&before, &found);
        }
        Type::Dyn
    }

    pub(super) fn mismatch(&mut self, id: u64, expected: &Type, found: &Type) {
        let text = format!("expected type '{expected}' but found '{found}'");
        self.issues.add(id, text);
    }

    fn comprehension(&mut self, all: &mut ComprehensionExpr) -> Type {
        self.check(&mut all.iter_range);
        self.check(&mut all.accu_init);
        let range = self
            .unifier
            .substitute(&self.type_of(&all.iter_range), false);
        let result = self.type_of(&all.accu_init);
        let (first, second) = match &range {
            Type::Made(made) if made.name == LIST => {
                let item = made.parameters[0].clone();
                match all.iter_var2 {
                    Some(_) => (Type::Int, item),
                    None => (item, Type::Error),
                }
            }
            Type::Made(made) if made.name == MAP => {
                (made.parameters[0].clone(), made.parameters[1].clone())
            }
            Type::Dyn | Type::Error | Type::Variable(_) => {
                self.unifier.is_assignable(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let text = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.issues.add(all.iter_range.id, text);
                (Type::Error, Type::Error)
            }
        };
        let before = self.scope.len();
        self.scope.push((all.accu_var.clone(), result.clone()));
        let outside = self.scope.len();
        self.scope.push((all.iter_var.clone(), first));
        if let Some(name) = &all.iter_var2 {
            self.scope.push((name.clone(), second));
        }
        self.check(&mut all.loop_cond);
        self.expect(&all.loop_cond, &Type::Bool);
        self.check(&mut all.loop_step);
        self.expect(&all.loop_step, &result);
        self.scope.truncate(outside);
        self.check(&mut all.result);
        self.scope.truncate(before);
        self.unifier.substitute(&self.type_of(&all.result), false)
    }

    fn expect(&mut self, expression: &IdedExpr, expected: &Type) {
        let found = self.type_of(expression);
        if !self.unifier.is_assignable(expected, &found) {
            self.mismatch(expression.id, expected, &found);
        }
    }
}

fn of_literal(literal: &LiteralValue) -> Type {
    match literal {
        LiteralValue::Boolean(_) => Type::Bool,
        LiteralValue::Bytes(_) => Type::Bytes,
        LiteralValue::Double(_) => Type::Double,
        LiteralValue::Int(_) => Type::Int,
        LiteralValue::Null => Type::Null,
        LiteralValue::String(_) => Type::String,
        LiteralValue::UInt(_) => Type::Uint,
    }
}
