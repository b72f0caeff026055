use std::fmt;

/// A request that the program did not declare. Nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotDeclared {
    /// The verb of RBAC.
    pub verb: &'static str,
    /// API group; `""` is the core group.
    pub group: String,
    /// The plural, with `/` and the subresource if there is one.
    pub resource: String,
    /// The namespace of the request.
    pub namespace: Option<String>,
    /// Whether the program declared the request for other namespaces.
    pub elsewhere: bool,
    /// The Rust type's kind, if the request was made with a Rust type.
    pub kind: Option<&'static str>,
}

impl NotDeclared {
    /// The line of code that declares the request.
    pub fn suggestion(&self) -> String {
        let (plural, subresource) = match self.resource.split_once('/') {
            Some((plural, subresource)) => (plural, Some(subresource)),
            None => (&*self.resource, None),
        };
        let verb = self.verb;
        if let (Some(kind), None, false) = (self.kind, subresource, self.elsewhere) {
            match verb {
                "list" | "watch" => return format!(".reads::<{kind}>()"),
                "create" | "update" | "patch" => return format!(".writes::<{kind}>()"),
                "delete" => return format!(".deletes::<{kind}>()"),
                _ => {}
            }
        }
        let mut rule = match self.kind {
            Some(kind) => format!("AccessRule::of::<{kind}>([{verb:?}])"),
            None => format!("AccessRule::new({:?}, {plural:?}, [{verb:?}])", self.group),
        };
        if let Some(subresource) = subresource {
            rule.push_str(&format!(".subresource({subresource:?})"));
        }
        match &self.namespace {
            Some(namespace) if self.elsewhere => {
                rule.push_str(&format!(".in_namespace({namespace:?})"));
            }
            Some(_) => {}
            None if self.elsewhere || self.kind.is_none() => rule.push_str(".everywhere()"),
            None => {}
        }
        format!(".access({rule})")
    }
}

impl fmt::Display for NotDeclared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not declared")?;
        if self.elsewhere {
            match &self.namespace {
                Some(namespace) => write!(f, " for namespace {namespace}")?,
                None => f.write_str(" for all namespaces")?,
            }
        }
        write!(f, ": add `{}` to wire", self.suggestion())
    }
}

impl std::error::Error for NotDeclared {}
