use super::{Operator, OperatorError, own_checks, route, running};

impl Operator {
    /// Checks that no two types define one kind. Only the first definition would be installed.
    pub(super) fn check_types(&self) -> Result<(), OperatorError> {
        let own: Vec<_> = self
            .registered
            .iter()
            .filter(|registered| registered.definition().is_some())
            .filter_map(|registered| Some((registered.resource()?, registered.rust_type())))
            .collect();
        for (number, (kind, (id, name))) in own.iter().enumerate() {
            let first = own.iter().take(number).find(|(other, (other_id, _))| {
                let is_same = other.kind == kind.kind || other.plural == kind.plural;
                other.group == kind.group && is_same && other_id != id
            });
            let Some((other, (_, other_name))) = first else {
                continue;
            };
            let advice = match other.version == kind.version {
                true => {
                    "let all controllers use one type; for a second one with fewer fields, write \
                     `#[resource(view_of = ..)]` with the first"
                }
                false => {
                    "let all controllers use the type of the stored version, and name the other type in \
                     its `#[resource(served(..))]`"
                }
            };
            return Err(OperatorError::TwoTypes {
                kind: kind.qualified_plural(),
                first: format!("`{other_name}` ({})", other.version),
                second: format!("`{name}` ({})", kind.version),
                advice: advice.into(),
            });
        }
        Ok(())
    }

    /// Checks what can be wrong in the program itself, before anything is started or printed.
    pub(super) fn check(&self) -> Result<(), OperatorError> {
        running::check_name(&self.name)?;
        self.check_types()?;
        for (number, (path, _)) in self.routes.iter().enumerate() {
            let refused = |problem| OperatorError::Route {
                path: path.clone(),
                problem,
            };
            route::check_path(path).map_err(refused)?;
            let mut before = self.routes.iter().take(number);
            if before.any(|(other, _)| other == path) {
                let problem = "the program has two routes at that path: remove one";
                return Err(refused(problem.into()));
            }
        }
        for (number, one) in self.checks.iter().enumerate() {
            own_checks::check_name(one.endpoint, &one.name)?;
            let mut before = self.checks.iter().take(number);
            if before.any(|other| other.endpoint == one.endpoint && other.name == one.name) {
                return Err(own_checks::twice(one.endpoint, &one.name));
            }
        }
        self.check_rules()?;
        self.check_webhooks()
    }
}
