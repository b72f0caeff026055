use std::marker::PhantomData;

use futures_util::{FutureExt, future::BoxFuture};
use k8s_openapi::api::{authentication::v1::UserInfo, core::v1::Namespace};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Cluster;
use crate::{
    admission::AdmissionRule,
    cache::{InformerScope, Informers},
    client,
    metrics::Metrics,
    operator::OperatorError,
    resource::{ApiResource, Object, Resource, Scope},
    webhook::{Denied, Mutate, Operation, ReadCaches, Validate, Warnings, Webhook},
};

/// Webhooks and admission rules under test, without an operator and without HTTP: mutations, then the defaults of rules, the schema with its CEL
/// rules and the checks of rules, then validations.
///
/// Each method returns what the API server would store, and the warnings; or the first denial. Selectors and match conditions of
/// the [rules](crate::webhook::Rules) are not evaluated.
///
/// ```
/// use pilothouse::{prelude::*, testing::OfflineAdmission, webhook::{Admission, Change, Denied, Validate, Warnings}};
///
/// struct Full;
///
/// impl Validate for Full {
///     type Resource = ConfigMap;
///
///     async fn validate(&self, change: &Change<ConfigMap>, _: &Admission) -> Result<Warnings, Denied> {
///         match change.new_object().is_some_and(|new| new.data.is_some()) {
///             true => Ok(Warnings::none()),
///             false => Err(Denied::invalid("data", "must not be empty")),
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let denied = OfflineAdmission::new().validates(Full).create(&ConfigMap::named("page")).await;
/// assert_eq!(denied.unwrap_err().to_string(), "data: must not be empty");
/// # }
/// ```
#[derive(Debug)]
#[must_use]
pub struct OfflineAdmission<K> {
    webhooks: Vec<Webhook>,
    pub(super) rules: Vec<AdmissionRule>,
    pub(super) user: UserInfo,
    pub(super) dry_run: bool,
    cached: Vec<CachedObject>,
    kind: PhantomData<fn() -> K>,
}

/// An object that webhooks read.
#[derive(Debug)]
struct CachedObject {
    object: Value,
    namespaced: bool,
    create: for<'a> fn(&'a Cluster, &'a Value) -> BoxFuture<'a, Result<(), Denied>>,
}

impl<K: Resource> Default for OfflineAdmission<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Resource> OfflineAdmission<K> {
    /// Without webhooks: only the schema decides. The user is `jane`, without groups.
    pub fn new() -> Self {
        Self {
            webhooks: Vec::new(),
            rules: Vec::new(),
            user: UserInfo {
                username: Some("jane".into()),
                ..UserInfo::default()
            },
            dry_run: false,
            cached: Vec::new(),
            kind: PhantomData,
        }
    }

    /// Adds a validation.
    pub fn validates(mut self, validate: impl Validate<Resource = K>) -> Self {
        let resource = ApiResource::of::<K>();
        self.webhooks.push(Webhook::validating(resource, validate));
        self
    }

    /// Adds a mutation.
    pub fn mutates(mut self, mutate: impl Mutate<Resource = K>) -> Self {
        let resource = ApiResource::of::<K>();
        self.webhooks.push(Webhook::mutating(resource, mutate));
        self
    }

    /// Adds an [admission rule](AdmissionRule). The API server in this process evaluates it together with the schema: its defaults after the
    /// mutations, and its checks before the validations. Its policies are named `offline.<rule>`. Parameters, namespaces with labels, and
    /// roles for the user are objects of [`cached`](Self::cached); without roles a user may only write objects of the kind `K`.
    ///
    /// ```
    /// use pilothouse::{admission::AdmissionRule, prelude::*, testing::OfflineAdmission};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let full = AdmissionRule::on::<ConfigMap>("full").check("has(object.data)", "data must not be empty");
    /// let denied = OfflineAdmission::new().rule(full).create(&ConfigMap::named("page")).await;
    /// assert!(denied.unwrap_err().to_string().ends_with("denied request: data must not be empty"));
    /// # }
    /// ```
    pub fn rule(mut self, rule: AdmissionRule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Sets who asks.
    pub fn user<S: Into<String>>(
        mut self,
        name: impl Into<String>,
        groups: impl IntoIterator<Item = S>,
    ) -> Self {
        self.user.username = Some(name.into());
        self.user.groups = Some(groups.into_iter().map(Into::into).collect());
        self
    }

    /// Makes the requests dry runs.
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Adds an object to the caches that the webhooks [read](Validate::reads), and to the API server that evaluates [rules](Self::rule).
    pub fn cached<C: Resource>(mut self, object: &C) -> Self {
        self.cached.push(CachedObject {
            object: json!(object),
            namespaced: <C::Scope as Scope>::NAMESPACED,
            create: |cluster, object| create::<C>(cluster, object).boxed(),
        });
        self
    }

    /// Creates an object.
    ///
    /// # Errors
    /// The denial of a webhook, or that of the schema.
    pub async fn create(&self, object: &K) -> Result<(K, Warnings), Denied> {
        self.store(None, object).await
    }

    /// Changes an object.
    ///
    /// # Errors
    /// As [`create`](Self::create). Also if the API server refuses the old object.
    pub async fn update(&self, old: &K, new: &K) -> Result<(K, Warnings), Denied> {
        self.store(Some(old), new).await
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// The denial of a rule or of a webhook.
    pub async fn delete(&self, object: &K) -> Result<Warnings, Denied> {
        let ruled = match self.rules.is_empty() {
            true => Warnings::none(),
            false => self.ruled(Some(object), None).await?.1,
        };
        let mut review = self.review(Operation::Delete, &json!(object), &Value::Null);
        let validated = self.call(Operation::Delete, &mut review, false).await?;
        Ok(ruled.iter().chain(validated.iter()).collect())
    }

    async fn store(&self, old: Option<&K>, new: &K) -> Result<(K, Warnings), Denied> {
        let operation = match old {
            None => Operation::Create,
            Some(_) => Operation::Update,
        };
        let mut review = self.review(operation, &json!(old), &json!(new));
        let mutated = self.call(operation, &mut review, true).await?;
        let new: K = serde_json::from_value(review["request"]["object"].take()).map_err(wrong)?;
        let (stored, ruled) = self.ruled(old, Some(new)).await?;
        let stored = stored.ok_or_else(|| wrong("the API server returned no object"))?;
        let mut review = self.review(operation, &json!(old), &json!(stored));
        let validated = self.call(operation, &mut review, false).await?;
        let warnings = mutated.iter().chain(ruled.iter()).chain(validated.iter());
        let warnings = warnings.collect();
        Ok((stored, warnings))
    }

    async fn call(
        &self,
        operation: Operation,
        review: &mut Value,
        mutates: bool,
    ) -> Result<Warnings, Denied> {
        let mut warnings = Warnings::none();
        let cluster = started()?;
        let end = CancellationToken::new();
        let _end = end.clone().drop_guard();
        let (caches, _informers) = self.caches(&cluster, &end).await?;
        let webhooks = self.webhooks.iter();
        for webhook in webhooks.filter(|one| one.is_mutation() == mutates && one.admits(operation))
        {
            for text in webhook.admit(review, &caches).await?.iter() {
                warnings = warnings.and(text);
            }
        }
        Ok(warnings)
    }

    /// The caches, as long as `cluster` and the informers exist, and until `end`.
    async fn caches(
        &self,
        cluster: &Cluster,
        end: &CancellationToken,
    ) -> Result<(ReadCaches, Informers), Denied> {
        self.create_cached(cluster).await?;
        let informers = Informers::new(cluster.client().in_all_namespaces(), Metrics::new());
        let caches = ReadCaches::of(&self.webhooks, &informers, &InformerScope::all());
        informers.start(end);
        Ok((caches, informers))
    }

    /// Creates the objects that others read. Namespaces and roles come first.
    pub(super) async fn create_cached(&self, cluster: &Cluster) -> Result<(), Denied> {
        for namespaced in [false, true] {
            for one in self
                .cached
                .iter()
                .filter(|one| one.namespaced == namespaced)
            {
                (one.create)(cluster, &one.object).await?;
            }
        }
        Ok(())
    }

    fn review(&self, operation: Operation, old: &Value, new: &Value) -> Value {
        let metadata = match operation {
            Operation::Delete => &old["metadata"],
            _ => &new["metadata"],
        };
        let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
        let request = json!({
            "uid": "offline", "operation": operation, "name": text("name"), "namespace": text("namespace"),
            "kind": {"group": K::GROUP, "version": K::VERSION, "kind": K::KIND},
            "userInfo": self.user, "dryRun": self.dry_run, "object": new, "oldObject": old,
        });
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
    }
}

async fn create<C: Resource>(cluster: &Cluster, object: &Value) -> Result<(), Denied> {
    let object: C = serde_json::from_value(object.clone()).map_err(wrong)?;
    let cluster = prepared::<C>(cluster, object.namespace()).await?;
    cluster.create(&object).await.map(drop).map_err(denied)
}

fn started() -> Result<Cluster, Denied> {
    Cluster::start().map_err(wrong)
}

/// The cluster with the definition of a kind and a namespace, which becomes its default.
pub(super) async fn prepared<C: Resource>(
    cluster: &Cluster,
    namespace: Option<&str>,
) -> Result<Cluster, Denied> {
    cluster.install::<C>().await.map_err(|error| match error {
        OperatorError::Client(error) => denied(error),
        error => wrong(error),
    })?;
    let namespace = namespace.unwrap_or("default");
    match cluster.create(&Namespace::named(namespace)).await {
        Err(error) if !error.is_already_exists() => Err(denied(error)),
        _ => Ok(cluster.in_namespace(namespace)),
    }
}

pub(super) fn wrong(error: impl ToString) -> Denied {
    Denied::with(500, "InternalError", error.to_string())
}

pub(super) fn denied(error: client::Error) -> Denied {
    match error.status() {
        Some(status) => Denied::from(status.clone()),
        None => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};

    use super::*;
    use crate::webhook::{Admission, Change, Reads, Rules};

    /// Counts the updates of a page, which an administrator may delete.
    struct Pages;

    impl Mutate for Pages {
        type Resource = ConfigMap;

        async fn mutate(&self, page: &mut ConfigMap, cx: &Admission) -> Result<Warnings, Denied> {
            let old = cx.old::<ConfigMap>()?.and_then(|old| old.data);
            let updates = old.and_then(|old| old.get("updates")?.parse::<u32>().ok());
            let updates = updates.map_or(0, |updates| updates + 1).to_string();
            page.data
                .get_or_insert_default()
                .insert("updates".into(), updates);
            Ok(Warnings::from("counted"))
        }
    }

    impl Validate for Pages {
        type Resource = ConfigMap;

        fn rules(&self, rules: Rules) -> Rules {
            rules.operations([Operation::Update, Operation::Delete])
        }

        async fn validate(
            &self,
            change: &Change<ConfigMap>,
            cx: &Admission,
        ) -> Result<Warnings, Denied> {
            match change {
                Change::Delete { .. } if !cx.user_is_in("admins") => Err(Denied::new("no")),
                _ => Ok(Warnings::from("validated")),
            }
        }
    }

    #[tokio::test]
    async fn an_object_goes_through_mutations_and_validations_of_its_operation() {
        let admission = || OfflineAdmission::new().mutates(Pages).validates(Pages);
        let page = ConfigMap::named("page");
        let (created, warnings) = admission().create(&page).await.unwrap();
        assert_eq!(created.data.as_ref().unwrap()["updates"], "0");
        assert_eq!(warnings.iter().collect::<Vec<_>>(), ["counted"]);
        let (updated, warnings) = admission().update(&created, &page).await.unwrap();
        assert_eq!(updated.data.as_ref().unwrap()["updates"], "1");
        assert_eq!(
            warnings.iter().collect::<Vec<_>>(),
            ["counted", "validated"]
        );
        let denied = admission().delete(&updated).await.unwrap_err();
        assert_eq!((denied.code(), denied.to_string()), (403, "no".into()));
        let admin = admission().user("root", ["admins"]);
        assert_eq!(admin.delete(&updated).await, Ok("validated".into()));
    }

    /// Makes a name that no object can have.
    struct Rename;

    impl Mutate for Rename {
        type Resource = ServiceAccount;

        async fn mutate(
            &self,
            account: &mut ServiceAccount,
            _: &Admission,
        ) -> Result<Warnings, Denied> {
            let labels = account.metadata.labels.get_or_insert_default();
            labels.insert("a label".into(), "x".into());
            Ok(Warnings::none())
        }
    }

    #[tokio::test]
    async fn the_api_server_checks_what_a_mutation_made() {
        let admission = OfflineAdmission::new().mutates(Rename);
        let mut account = ServiceAccount::named("a");
        account.metadata.namespace = Some("blue".into());
        let denied = admission.create(&account).await.unwrap_err();
        assert_eq!(denied.code(), 422, "{denied}");
        let untouched = OfflineAdmission::new().create(&account).await.unwrap().0;
        assert_eq!(untouched.namespace(), Some("blue"));
    }

    /// Refuses a page if its namespace has one with its text, or has none named `open`.
    struct Unique;

    impl Validate for Unique {
        type Resource = ConfigMap;

        fn reads(&self, reads: Reads) -> Reads {
            reads.kind::<ConfigMap>()
        }

        async fn validate(
            &self,
            change: &Change<ConfigMap>,
            cx: &Admission,
        ) -> Result<Warnings, Denied> {
            if cx.get::<ConfigMap>("open").await?.is_none() {
                return Err(Denied::new("closed"));
            }
            let pages = cx.lister::<ConfigMap>().await?;
            let pages = pages.in_namespace(cx.namespace().unwrap_or_default());
            let new = change.new_object().and_then(|new| new.data.as_ref());
            match pages.items.iter().any(|page| page.data.as_ref() == new) {
                true => Err(Denied::new("not unique")),
                false => Ok(Warnings::none()),
            }
        }
    }

    #[tokio::test]
    async fn webhooks_read_cached_objects_of_the_kinds_that_they_declare() {
        let page = |namespace: &str, name: &str, text: &str| {
            let mut page = ConfigMap::named(name);
            page.metadata.namespace = Some(namespace.into());
            page.data = Some([("text".into(), text.into())].into());
            page
        };
        let admission = || OfflineAdmission::new().validates(Unique);
        let new = page("blue", "new", "a");
        let denied = |admission: OfflineAdmission<ConfigMap>| {
            let new = new.clone();
            async move {
                admission
                    .create(&new)
                    .await
                    .map_err(|denied| denied.to_string())
            }
        };
        let red = admission().cached(&page("red", "open", "a"));
        assert_eq!(denied(red).await.unwrap_err(), "closed");
        let open = || admission().cached(&page("blue", "open", "b"));
        let taken = open().cached(&page("blue", "old", "a"));
        assert_eq!(denied(taken).await.unwrap_err(), "not unique");
        let elsewhere = open().cached(&page("red", "old", "a"));
        assert!(denied(elsewhere).await.is_ok());
    }

    /// Reads a kind that it does not declare.
    struct Undeclared;

    impl Validate for Undeclared {
        type Resource = ConfigMap;

        async fn validate(
            &self,
            _: &Change<ConfigMap>,
            cx: &Admission,
        ) -> Result<Warnings, Denied> {
            cx.get::<ServiceAccount>("a").await?;
            Ok(Warnings::none())
        }
    }

    #[tokio::test]
    async fn a_kind_that_is_not_declared_cannot_be_read() {
        let admission = OfflineAdmission::new().validates(Undeclared);
        let denied = admission.create(&ConfigMap::named("a")).await.unwrap_err();
        assert_eq!(
            (denied.code(), denied.to_string()),
            (
                500,
                "the webhook cannot decide: it reads ServiceAccount objects, but does not declare it: add \
                 `reads.kind::<ServiceAccount>()` to its function `reads`"
                    .into()
            )
        );
    }
}
