use std::sync::Arc;

use crate::api::admission::attributes::Attributes;
use crate::authentication::User;
use crate::authorization::{self, Action, ActionTarget, Mode};
use crate::core::Core;
use crate::schema::{Authorize, Question};
use crate::store::Store;

/// Answers questions of expressions as the server authorizes requests.
struct Decider {
    mode: Mode,
    store: Arc<Store>,
    /// The user of the request.
    user: User,
}

pub(super) fn decider(core: &Core, user: &User) -> Arc<dyn Authorize> {
    Arc::new(Decider {
        mode: core.authorization,
        store: core.store.clone(),
        user: user.clone(),
    })
}

impl Authorize for Decider {
    fn decide(&self, question: &Question) -> (bool, String) {
        let target = match &question.path {
            Some(path) => ActionTarget::Path(path.clone()),
            None => ActionTarget::Resource {
                group: question.group.clone(),
                resource: question.resource.clone(),
                subresource: question.subresource.clone(),
                namespace: question.namespace.clone(),
                name: question.name.clone(),
            },
        };
        let action = Action {
            verb: question.verb.clone(),
            target,
        };
        let account = question.service_account.as_ref();
        let account = account.map(|(namespace, name)| User::service_account(namespace, name, ""));
        let user = account.as_ref().unwrap_or(&self.user);
        let decision = authorization::decide(self.mode, &self.store, user, &action);
        (decision.allowed, decision.reason)
    }
}

/// What the request itself does not say yet: the verb. The rest is the resource of the request.
pub(super) fn of_request(attributes: &Attributes<'_>) -> Question {
    let [group, _, resource] = attributes.resource();
    Question {
        group: group.into(),
        resource: resource.into(),
        subresource: attributes.subresource.into(),
        namespace: attributes.namespace().into(),
        name: attributes.name.into(),
        ..Question::default()
    }
}
