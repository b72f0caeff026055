use cel::common::ast::{CallExpr, operators};

use super::checker::Checker;
use super::overloads::{self, Overload, is_function};
use crate::schema::cel::types::{Type, joined};
use crate::schema::cel::walk::qualified;

impl Checker {
    pub(super) fn call(&mut self, id: u64, call: &mut CallExpr) -> Type {
        for argument in &mut call.args {
            self.check(argument);
        }
        // `a.b.c()` calls the function `a.b.c` if there is one.
        let whole = call.target.as_deref().and_then(qualified);
        let whole = whole.map(|outer| format!("{outer}.{}", call.func_name));
        if let Some(name) = whole.filter(|name| is_function(name) && self.knows(name)) {
            call.func_name = name;
            call.target = None;
        }
        if call.target.is_none()
            && let Some(name) = call.func_name.strip_prefix('.')
        {
            call.func_name = name.to_owned();
        }
        if let Some(target) = &mut call.target {
            self.check(target);
        }
        match overloads::find(&call.func_name) {
            Some(overloads) => self.resolve(id, call, overloads),
            None => self.undeclared(id, &call.func_name),
        }
    }

    /// Whether the expression may call this function.
    fn knows(&self, function: &str) -> bool {
        self.makes_patches || function != "jsonpatch.escapeKey"
    }

    fn resolve(&mut self, id: u64, call: &CallExpr, overloads: &'static [Overload]) -> Type {
        let is_method = call.target.is_some();
        let parts = call.target.as_deref().into_iter().chain(&call.args);
        let found: Vec<Type> = parts.map(|part| self.type_of(part)).collect();
        if matches!(
            call.func_name.as_str(),
            operators::LOGICAL_AND | operators::LOGICAL_OR
        ) {
            return self.logical(id, call, &found, overloads);
        }
        let mut result: Option<Type> = None;
        let mut meant = Vec::new();
        for overload in overloads.iter().filter(|o| o.is_method == is_method) {
            let fresh: Vec<Type> = (0..overload.variables)
                .map(|_| self.unifier.variable())
                .collect();
            let wanted: Vec<Type> = overload
                .parameters
                .iter()
                .map(|parameter| instance(parameter, &fresh))
                .collect();
            if !self.unifier.are_assignable(&found, &wanted) {
                continue;
            }
            meant.push(overload.id);
            let returned = instance(&overload.result, &fresh);
            let returned = self.unifier.substitute(&returned, false);
            result = Some(match result {
                None => returned,
                Some(before) if before == Type::Dyn || before == returned => before,
                Some(_) => Type::Dyn,
            });
        }
        let Some(result) = result else {
            return self.no_overload(id, call, &found);
        };
        self.refer(id, meant);
        result
    }

    fn logical(
        &mut self,
        id: u64,
        call: &CallExpr,
        found: &[Type],
        overloads: &'static [Overload],
    ) -> Type {
        let mut result = Type::Bool;
        for (argument, found) in call.args.iter().zip(found) {
            if !self.unifier.is_assignable(found, &Type::Bool) {
                self.mismatch(argument.id, &Type::Bool, found);
                result = Type::Error;
            }
        }
        self.refer(id, overloads.iter().map(|o| o.id).collect());
        result
    }

    fn no_overload(&mut self, id: u64, call: &CallExpr, found: &[Type]) -> Type {
        let found: Vec<Type> = found
            .iter()
            .map(|t| self.unifier.substitute(t, true))
            .collect();
        let signature = match (&call.target, found.split_first()) {
            (Some(_), Some((receiver, rest))) => format!("{receiver}.({})", joined(rest)),
            _ => format!("({})", joined(&found)),
        };
        let name = &call.func_name;
        let text = format!("found no matching overload for '{name}' applied to '{signature}'");
        self.issues.add(id, text);
        Type::Error
    }
}

/// The type of a signature for one call.
fn instance(of: &Type, fresh: &[Type]) -> Type {
    match of {
        Type::Variable(number) => fresh.get(*number).cloned().unwrap_or(Type::Dyn),
        Type::Made(made) => {
            let parameters = made.parameters.iter();
            Type::made(made.name, parameters.map(|p| instance(p, fresh)).collect())
        }
        other => other.clone(),
    }
}
