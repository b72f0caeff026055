#![cfg(feature = "dev")]

use pilothouse::{prelude::*, resource::Scheme, testing::OfflineAdmission};
use {{library}}::{{{kind}}, {{kind}}Defaults, {{kind}}Rules};

const CREATOR: &str = "{{group}}/creator";

/// The example, as a user writes it.
fn example() -> {{kind}} {
    let text = include_str!("../example/{{singular}}.yaml");
    let mut objects = Scheme::new().with::<{{kind}}>().decode(text);
    objects.remove(0).unwrap().downcast().unwrap()
}

/// What an API server does before it stores an object.
fn admission() -> OfflineAdmission<{{kind}}> {
    OfflineAdmission::new()
        .mutates({{kind}}Defaults)
        .validates({{kind}}Rules)
}

#[tokio::test]
async fn an_object_shows_who_has_created_it() {
    let ann = admission().user("ann", [""; 0]);
    let (created, _) = ann.create(&example()).await.unwrap();
    assert_eq!(created.annotation(CREATOR), Some("ann"));
}

#[tokio::test]
async fn nobody_changes_who_has_created_an_object() {
    let (created, _) = admission().create(&example()).await.unwrap();
    let mut changed = created.clone();
    let annotations = changed.metadata.annotations.get_or_insert_default();
    annotations.insert(CREATOR.into(), "bob".into());
    let denied = admission().update(&created, &changed).await.unwrap_err();
    assert_eq!(
        denied.to_string(),
        "metadata.annotations: must not change the creator"
    );
    let same = admission().update(&created, &created).await;
    assert!(same.is_ok(), "{same:?}");
}
