//! Requests for single objects.

use pilothouse::{
    client::{Api, DeleteParams, Deleted, PostParams},
    k8s::{
        api::{core::v1::ConfigMap, rbac::v1::ClusterRole},
        apimachinery::pkg::apis::meta::v1::OwnerReference,
    },
    resource::{Object, ObjectMeta},
};

use crate::target::{Target, map};

pub(crate) async fn an_object_is_created_read_replaced_and_deleted(target: &Target) {
    let maps = target.api::<ConfigMap>();
    assert!(maps.get_opt("a").await.unwrap().is_none());
    let created = target.map("a", &[("app", "web")]).await;
    assert_eq!(created.namespace(), Some(target.namespace.as_str()));
    assert!(created.uid().is_some() && created.resource_version().is_some());
    let mut read = maps.get("a").await.unwrap();
    assert_eq!(read, created);
    read.data = Some([("key".to_owned(), "other".to_owned())].into());
    let replaced = maps.replace("a", &PostParams::default(), &read).await.unwrap();
    assert_eq!(replaced.data, read.data);
    assert_eq!(replaced.uid(), created.uid());
    assert_ne!(replaced.resource_version(), created.resource_version());
    // A write that changes nothing gives no new version.
    let same = maps.replace("a", &PostParams::default(), &replaced).await.unwrap();
    assert_eq!(same.resource_version(), replaced.resource_version());
    let Deleted::Done(status) = maps.delete("a", &DeleteParams::default()).await.unwrap() else {
        panic!("the map is gone at once");
    };
    let details = status.details.unwrap();
    assert_eq!((details.kind.as_str(), details.name.as_str()), ("configmaps", "a"));
    assert_eq!(Some(details.uid.as_str()), created.uid());
    assert!(maps.get("a").await.unwrap_err().is_not_found());
}

pub(crate) async fn names_are_generated(target: &Target) {
    let maps = target.api::<ConfigMap>();
    let mut wanted = map("", &[]);
    wanted.metadata = ObjectMeta {
        generate_name: Some("made-".into()),
        ..Default::default()
    };
    let params = PostParams::default();
    let first = maps.create(&params, &wanted).await.unwrap();
    let second = maps.create(&params, &wanted).await.unwrap();
    assert!(first.name().starts_with("made-") && first.name().len() == "made-".len() + 5);
    assert_ne!(first.name(), second.name());
}

pub(crate) async fn an_old_version_is_not_replaced(target: &Target) {
    let maps = target.api::<ConfigMap>();
    let mut old = target.map("a", &[]).await;
    let mut new = old.clone();
    new.data = None;
    maps.replace("a", &PostParams::default(), &new).await.unwrap();
    let error = maps.replace("a", &PostParams::default(), &old).await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    // Without a version the last writer wins.
    old.metadata.resource_version = None;
    let won = maps.replace("a", &PostParams::default(), &old).await.unwrap();
    assert_eq!(won.data, old.data);
}

pub(crate) async fn an_object_is_deleted_only_with_the_expected_uid_and_version(target: &Target) {
    let maps = target.api::<ConfigMap>();
    let map = target.map("a", &[]).await;
    let other = DeleteParams::default().uid("another");
    let error = maps.delete("a", &other).await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    let older = DeleteParams::default().resource_version("1");
    let error = maps.delete("a", &older).await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    let it = DeleteParams::default()
        .uid(map.uid().unwrap())
        .resource_version(map.resource_version().unwrap());
    maps.delete("a", &it).await.unwrap();
    assert!(maps.get_opt("a").await.unwrap().is_none());
}

pub(crate) async fn a_dry_run_changes_nothing(target: &Target) {
    let maps = target.api::<ConfigMap>();
    let dry = PostParams::default().dry_run();
    let made = maps.create(&dry, &map("a", &[])).await.unwrap();
    assert!(made.uid().is_some());
    assert!(maps.get_opt("a").await.unwrap().is_none());
    let real = target.map("a", &[]).await;
    let mut changed = real.clone();
    changed.data = None;
    let answered = maps.replace("a", &dry, &changed).await.unwrap();
    assert_eq!(answered.data, None);
    maps.delete("a", &DeleteParams::default().dry_run()).await.unwrap();
    assert_eq!(maps.get("a").await.unwrap(), real);
}

pub(crate) async fn owned_objects_are_deleted_with_their_owner_or_orphaned_as_requested(target: &Target) {
    let maps = target.api::<ConfigMap>();
    for (deletion, stays) in [
        (DeleteParams::background(), false),
        (DeleteParams::foreground(), false),
        (DeleteParams::orphan(), true),
    ] {
        let owner = target.map("owner", &[]).await;
        let mut child = map("child", &[]);
        child.metadata.owner_references = Some(vec![OwnerReference {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            name: "owner".into(),
            uid: owner.uid().unwrap().into(),
            ..Default::default()
        }]);
        maps.create(&PostParams::default(), &child).await.unwrap();
        maps.delete("owner", &deletion).await.unwrap();
        let gone = async |name: &str| maps.get_opt(name).await.unwrap().is_none().then_some(());
        target.until("the owner goes", async || gone("owner").await).await;
        if stays {
            let orphan = maps.get("child").await.unwrap();
            assert_eq!(orphan.metadata.owner_references, None);
            maps.delete("child", &DeleteParams::default()).await.unwrap();
        } else {
            target.until("the child goes", async || gone("child").await).await;
        }
    }
}

pub(crate) async fn names_with_colons_reach_their_object(target: &Target) {
    let roles = Api::<ClusterRole>::all(&target.client);
    let name = format!("test:{}:a role", target.namespace).replace(' ', "-");
    let mut role = ClusterRole::default();
    role.metadata.name = Some(name.clone());
    roles.create(&PostParams::default(), &role).await.unwrap();
    assert_eq!(roles.get(&name).await.unwrap().name(), name);
    roles.delete(&name, &DeleteParams::default()).await.unwrap();
    assert!(roles.get_opt(&name).await.unwrap().is_none());
}
