use pilothouse::{
    prelude::*,
    webhook::{Admission, Change, Denied, Mutate, Operation, Rules, Validate, Warnings},
};

/// The annotation with the user who has created an object.
const CREATOR: &str = "{{group}}/creator";

/// Notes on each new {{kind}} who has created it.
pub struct {{kind}}Defaults;

impl Mutate for {{kind}}Defaults {
    type Resource = crate::{{kind}};

    fn rules(&self, rules: Rules) -> Rules {
        rules.operations([Operation::Create])
    }

    async fn mutate(&self, object: &mut crate::{{kind}}, cx: &Admission) -> Result<Warnings, Denied> {
        let user = cx.user().username.clone().unwrap_or_default();
        let annotations = object.metadata.annotations.get_or_insert_default();
        annotations.insert(CREATOR.into(), user);
        Ok(Warnings::none())
    }
}

/// Lets nobody change who has created a {{kind}}.
pub struct {{kind}}Rules;

impl Validate for {{kind}}Rules {
    type Resource = crate::{{kind}};

    fn rules(&self, rules: Rules) -> Rules {
        rules.operations([Operation::Update])
    }

    async fn validate(&self, change: &Change<crate::{{kind}}>, _: &Admission) -> Result<Warnings, Denied> {
        if let Change::Update { old, new } = change
            && old.annotation(CREATOR) != new.annotation(CREATOR)
        {
            let problem = "must not change the creator";
            return Err(Denied::invalid("metadata.annotations", problem));
        }
        Ok(Warnings::none())
    }
}
