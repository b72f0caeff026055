//! The variable `authorizer`, with which an expression asks what users may do.

use std::fmt;
use std::sync::Arc;

use cel::Value;
use cel::objects::Opaque;

use super::Stopped;
use crate::names;

/// Decides whether somebody may do something.
pub(crate) trait Authorize: Send + Sync {
    /// Returns whether it is allowed, and the reason.
    fn decide(&self, question: &Question) -> (bool, String);
}

/// What an expression asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Question {
    /// Namespace and name of a service account; `None` for the user of the request.
    pub(crate) service_account: Option<(String, String)>,
    pub(crate) verb: String,
    /// A path that is no resource.
    pub(crate) path: Option<String>,
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// A question that is not complete yet.
#[derive(Clone)]
struct Check {
    kind: &'static str,
    question: Question,
    decider: Arc<dyn Authorize>,
}

const AUTHORIZER: &str = "kubernetes.authorization.Authorizer";
const PATH: &str = "kubernetes.authorization.PathCheck";
const GROUP: &str = "kubernetes.authorization.GroupCheck";
const RESOURCE: &str = "kubernetes.authorization.ResourceCheck";

impl PartialEq for Check {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.question == other.question
    }
}

impl Eq for Check {}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.kind, self.question)
    }
}

impl Opaque for Check {
    fn runtime_type_name(&self) -> &str {
        self.kind
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Decision {
    allowed: bool,
    reason: String,
}

impl Opaque for Decision {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.authorization.Decision"
    }
}

/// The variables `authorizer` and `authorizer.requestResource`. `request` is the question about the resource of the request.
pub(crate) fn authorizer(decider: &Arc<dyn Authorize>, request: Question) -> [Value; 2] {
    let check = |kind, question| {
        let decider = decider.clone();
        Value::Opaque(Arc::new(Check {
            kind,
            question,
            decider,
        }))
    };
    [
        check(AUTHORIZER, Question::default()),
        check(RESOURCE, request),
    ]
}

/// Calls a method of one of these values. Returns `None` if it is another method, or one of another value.
pub(super) fn call(function: &str, arguments: &[Value]) -> Option<Result<Value, Stopped>> {
    let (Value::Opaque(receiver), rest) = arguments.split_first()? else {
        return None;
    };
    if let Some(decision) = receiver.downcast_ref::<Decision>() {
        return Some(Ok(match (function, rest) {
            ("allowed", []) => Value::Bool(decision.allowed),
            ("reason", []) => Value::String(Arc::new(decision.reason.clone())),
            // Roles that are missing do not make an error, as on a real server.
            ("errored", []) => Value::Bool(false),
            ("error", []) => Value::String(Arc::default()),
            _ => return None,
        }));
    }
    let check = receiver.downcast_ref::<Check>()?;
    let texts: Option<Vec<&str>> = rest
        .iter()
        .map(|value| match value {
            Value::String(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    check.call(function, &texts?)
}

impl Check {
    fn call(&self, function: &str, texts: &[&str]) -> Option<Result<Value, Stopped>> {
        let mut next = self.clone();
        let question = &mut next.question;
        match (self.kind, function, texts) {
            (AUTHORIZER, "path", [path]) => {
                if path.trim().is_empty() {
                    return Some(Err(Stopped::Failed("path must not be empty".into())));
                }
                next.kind = PATH;
                question.path = Some((*path).into());
            }
            (AUTHORIZER, "group", [group]) => {
                next.kind = GROUP;
                question.group = (*group).into();
            }
            (AUTHORIZER, "serviceAccount", [namespace, name]) => {
                for (text, wrong, what) in [
                    (name, names::dns_subdomain(name), "name"),
                    (namespace, names::dns_label(namespace), "namespace"),
                ] {
                    if text.is_empty() || !wrong.is_empty() {
                        let why = format!("Invalid service account {what}");
                        return Some(Err(Stopped::Failed(why)));
                    }
                }
                question.service_account = Some(((*namespace).into(), (*name).into()));
            }
            (GROUP, "resource", [resource]) => {
                if resource.trim().is_empty() {
                    return Some(Err(Stopped::Failed("resource must not be empty".into())));
                }
                next.kind = RESOURCE;
                question.resource = (*resource).into();
            }
            (RESOURCE, "subresource", [part]) => question.subresource = (*part).into(),
            (RESOURCE, "namespace", [namespace]) => question.namespace = (*namespace).into(),
            (RESOURCE, "name", [name]) => question.name = (*name).into(),
            // Roles do not depend on selectors.
            (RESOURCE, "fieldSelector" | "labelSelector", [_]) => {}
            (PATH | RESOURCE, "check", [verb]) => {
                question.verb = (*verb).into();
                let (allowed, reason) = self.decider.decide(question);
                return Some(Ok(Value::Opaque(Arc::new(Decision { allowed, reason }))));
            }
            _ => return None,
        }
        Some(Ok(Value::Opaque(Arc::new(next))))
    }
}
