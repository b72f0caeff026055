use super::OfflineAdmission;
use crate::{
    resource::ObjectMeta,
    webhook::{Admission, Change, Denied, Mutate, Validate, Warnings},
};

#[derive(crate::Resource, Clone, Debug, PartialEq)]
#[resource(
    crate = "crate",
    group = "demo.example.com",
    version = "v1",
    namespaced
)]
struct Shelf {
    metadata: ObjectMeta,
    spec: ShelfSpec,
}

#[derive(crate::Schema, Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[schema(crate = "crate", rule("self.used <= self.size", "used must fit"))]
struct ShelfSpec {
    size: i32,
    used: i32,
    #[serde(default = "oak")]
    wood: String,
}

fn oak() -> String {
    "oak".into()
}

/// Puts one more book on a shelf.
struct OneMore;

impl Mutate for OneMore {
    type Resource = Shelf;

    async fn mutate(&self, shelf: &mut Shelf, _: &Admission) -> Result<Warnings, Denied> {
        shelf.spec.used += 1;
        Ok(Warnings::none())
    }
}

/// Knows what the shelf is made of.
struct OnlyOak;

impl Validate for OnlyOak {
    type Resource = Shelf;

    async fn validate(&self, change: &Change<Shelf>, _: &Admission) -> Result<Warnings, Denied> {
        match change.new_object().map(|new| new.spec.wood.as_str()) {
            Some("oak") => Ok(Warnings::none()),
            other => Err(Denied::new(format!("made of {other:?}"))),
        }
    }
}

fn shelf(used: i32, wood: &str) -> Shelf {
    Shelf {
        metadata: ObjectMeta {
            name: Some("a".into()),
            ..ObjectMeta::default()
        },
        spec: ShelfSpec {
            size: 3,
            used,
            wood: wood.into(),
        },
    }
}

#[tokio::test]
async fn an_own_kind_goes_through_mutation_schema_rules_and_validation() {
    let admission = || OfflineAdmission::new().mutates(OneMore).validates(OnlyOak);
    let (created, _) = admission().create(&shelf(2, "oak")).await.unwrap();
    assert_eq!(created.spec.used, 3);
    // The rule sees what the mutation made.
    let denied = admission().create(&shelf(3, "oak")).await.unwrap_err();
    assert_eq!(denied.code(), 422, "{denied}");
    assert!(denied.to_string().contains("used must fit"), "{denied}");
    let denied = admission().create(&shelf(0, "elm")).await;
    assert_eq!(denied.unwrap_err().to_string(), "made of Some(\"elm\")");
}
