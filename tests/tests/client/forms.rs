//! Every form of type that serde knows, as a custom kind: the server accepts its definition, and values come back as they were.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    num::NonZeroU16,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use pilothouse::{
    Schema,
    client::{Api, Patch, PatchParams, PostParams},
    crd::{self, CustomResource},
    k8s::{
        ByteString,
        api::core::v1::{
            EnvVar, LocalObjectReference, PodTemplateSpec, ResourceRequirements, SecretKeySelector,
        },
        apimachinery::pkg::{
            api::resource::Quantity,
            apis::meta::v1::{Condition, LabelSelector, MicroTime, Time},
            runtime::RawExtension,
            util::intstr::IntOrString,
        },
    },
    resource::{ApiResource, DynamicObject, Namespaced, ObjectMeta, Resource},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::target::Target;

/// The spec of each kind.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(bound = "T: Serialize + DeserializeOwned")]
struct Of<T> {
    value: T,
}

/// Installs a kind for each type, and creates objects with the values.
macro_rules! forms {
    ($target:ident; $($kind:ident: $ty:ty = [$($value:expr),+ $(,)?];)+) => { $({
        #[derive(pilothouse::Resource, Clone, Debug)]
        #[resource(group = "forms.pilothouse.dev", version = "v1", namespaced)]
        struct $kind {
            metadata: ObjectMeta,
            spec: Of<$ty>,
        }
        let values: Vec<$ty> = vec![$($value),+];
        let objects = values.into_iter().map(|value| $kind {
            metadata: ObjectMeta::default(),
            spec: Of { value },
        });
        come_back($target, objects.collect()).await;
    })+ };
}

/// Installs the kind, creates the objects, and compares them with what the server has stored.
async fn come_back<K>(target: &Target, objects: Vec<K>)
where
    K: CustomResource + Resource<Scope = Namespaced>,
{
    let definition = K::crd().unwrap_or_else(|error| panic!("{error}"));
    let installed = crd::install(&target.client, &[definition], "forms").await;
    installed.unwrap_or_else(|error| panic!("{}: {error}", K::KIND));
    let api = target.api::<K>();
    for (index, mut object) in objects.into_iter().enumerate() {
        let name = format!("value-{index}");
        object.metadata_mut().name = Some(name.clone());
        let created = api.create(&PostParams::default(), &object).await;
        created.unwrap_or_else(|error| panic!("{} {name}: {error}", K::KIND));
        let read = api.get(&name).await;
        let read = read.unwrap_or_else(|error| panic!("{} {name}: {error}", K::KIND));
        assert_eq!(spec(&read), spec(&object), "{} {name}", K::KIND);
    }
}

fn spec<K: Serialize>(object: &K) -> Value {
    serde_json::to_value(object).unwrap()["spec"].take()
}

fn from_json<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).unwrap()
}

#[derive(Schema, Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
enum Level {
    /// Hardly.
    VeryLow,
    #[serde(alias = "top", alias = "peak")]
    High,
}

/// A string with a type.
#[derive(Schema, Clone, Debug, Deserialize, Serialize, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Name(String);

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Person {
    first_name: String,
    age: Option<u8>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum External {
    One { first: i32 },
    TwoOf(Person),
    Three {},
    Four(u16),
    Five(Vec<Level>),
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Internal {
    Nothing,
    Some { the_level: Level },
    Of(Person),
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", content = "data")]
enum Adjacent {
    Nothing,
    Of(Person),
    Fields { name: String },
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum Either {
    Number(u16),
    Text(String),
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum Shape {
    Circle { radius: u32 },
    Square { side: u32 },
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
enum Outer {
    Inner(Internal),
    Deeper { either: External, shapes: Vec<Shape> },
    WithAlias(Moved),
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct FlattenedEnums {
    name: String,
    #[serde(flatten)]
    internal: Internal,
    #[serde(flatten)]
    shape: Shape,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct FlattenedExternal {
    name: String,
    #[serde(flatten)]
    external: External,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct FlattenedOption {
    name: String,
    #[serde(flatten)]
    person: Option<Person>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct FlattenedRest {
    name: String,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "type")]
struct Tagged {
    name: String,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(transparent)]
struct Transparent {
    inner: Vec<Person>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(from = "String", into = "String")]
struct Converted(u8, u8);

impl From<String> for Converted {
    fn from(text: String) -> Self {
        let (one, other) = text.split_once('/').unwrap_or_default();
        Self(one.parse().unwrap_or_default(), other.parse().unwrap_or_default())
    }
}

impl From<Converted> for String {
    fn from(Converted(one, other): Converted) -> Self {
        format!("{one}/{other}")
    }
}

/// A field with an older name, and one with two.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Moved {
    #[serde(alias = "oldName")]
    new_name: String,
    #[serde(default, alias = "oldCount", alias = "olderCount")]
    new_count: i32,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
struct WithDefaults {
    number: i64,
    words: Vec<String>,
    person: Person,
    level: Level,
    #[serde(skip)]
    hidden: u8,
    #[serde(rename = "odd.na-me", skip_serializing_if = "Option::is_none")]
    odd: Option<bool>,
}

impl Default for WithDefaults {
    fn default() -> Self {
        Self {
            number: -7,
            words: vec!["a".into()],
            person: Person { first_name: "Ada".into(), age: Some(36) },
            level: Level::VeryLow,
            hidden: 0,
            odd: None,
        }
    }
}

/// Declares a struct and an enum for each rule, and a struct of them all.
macro_rules! rename_rules {
    ($($field:ident, $fields:ident, $variants:ident: $rule:literal;)+) => {
        $(
            #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
            #[serde(rename_all = $rule)]
            struct $fields {
                two_words: i32,
                word: $variants,
            }

            #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
            #[serde(rename_all = $rule)]
            enum $variants {
                TwoWords,
            }
        )+

        #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
        struct RenameRules {
            $($field: $fields),+
        }

        impl RenameRules {
            fn all() -> Self {
                Self { $($field: $fields { two_words: 1, word: $variants::TwoWords }),+ }
            }
        }
    };
}

rename_rules! {
    lower, LowerFields, LowerVariants: "lowercase";
    upper, UpperFields, UpperVariants: "UPPERCASE";
    pascal, PascalFields, PascalVariants: "PascalCase";
    camel, CamelFields, CamelVariants: "camelCase";
    snake, SnakeFields, SnakeVariants: "snake_case";
    screaming, ScreamingFields, ScreamingVariants: "SCREAMING_SNAKE_CASE";
    kebab, KebabFields, KebabVariants: "kebab-case";
    train, TrainFields, TrainVariants: "SCREAMING-KEBAB-CASE";
}

/// A type in itself, as any value.
#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Tree {
    name: String,
    #[serde(default)]
    #[schema(with = "Vec<serde_json::Value>")]
    branches: Vec<Tree>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Durations {
    #[serde(with = "pilothouse::resource::duration")]
    period: Duration,
    #[serde(default, with = "pilothouse::resource::duration")]
    timeout: Option<Duration>,
    #[serde(default, with = "pilothouse::resource::duration")]
    steps: BTreeMap<String, Vec<Duration>>,
}

fn tree(name: &str, branches: Vec<Tree>) -> Tree {
    Tree { name: name.into(), branches }
}

fn person(age: Option<u8>) -> Person {
    Person { first_name: "Ada".into(), age }
}

pub(crate) async fn scalars_come_back_as_they_were(target: &Target) {
    forms! { target;
        Bool: bool = [true, false];
        Char: char = ['x', 'ü'];
        Small: i8 = [i8::MIN, i8::MAX];
        Unsigned: u32 = [0, u32::MAX];
        Long: i64 = [i64::MIN, i64::MAX];
        LongUnsigned: u64 = [0, 1 << 62];
        Float: f64 = [0.5, -1e300, 3.0];
        ShortFloat: f32 = [0.25];
        NotZero: NonZeroU16 = [NonZeroU16::MAX];
        Text: String = [String::new(), "ä\n".into()];
        Borrowed: Cow<'static, str> = ["a".into()];
        Maybe: Option<i32> = [None, Some(0)];
        Boxed: Box<Person> = [Box::new(person(None))];
        Counted: Arc<Person> = [Arc::new(person(Some(1)))];
        Port: IntOrString = [IntOrString::Int(80), IntOrString::String("http".into())];
        Amount: Quantity = [Quantity("1500m".into()), Quantity("2Gi".into())];
        Moment: Time = [from_json(json!("2026-01-02T03:04:05Z"))];
        MicroMoment: MicroTime = [from_json(json!("2026-01-02T03:04:05.678901Z"))];
        Bytes: ByteString = [ByteString(vec![0, 255])];
        Address: IpAddr = [IpAddr::from([10, 0, 0, 1]), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        OldAddress: Ipv4Addr = [Ipv4Addr::LOCALHOST];
        Listen: SocketAddr = ["[::1]:80".parse().unwrap()];
        File: PathBuf = ["/etc/hosts".into()];
        Lengths: Durations = [
            Durations { period: Duration::from_millis(1500), timeout: None, steps: BTreeMap::new() },
            Durations {
                period: Duration::ZERO,
                timeout: Some(Duration::from_secs(90)),
                steps: [("a".into(), vec![Duration::from_secs(1)])].into(),
            },
        ];
    }
}

pub(crate) async fn lists_and_maps_come_back_as_they_were(target: &Target) {
    forms! { target;
        List: Vec<Person> = [vec![], vec![person(Some(1)), person(None)]];
        ListOfMaybe: Vec<Option<i32>> = [vec![Some(1), None]];
        ListOfMaybePersons: Vec<Option<Person>> = [vec![Some(person(None)), None]];
        ListOfLists: Vec<Vec<String>> = [vec![vec![], vec!["a".into(), "a".into()]]];
        Triple: [u8; 3] = [[1, 2, 2]];
        Set: BTreeSet<String> = [["b".to_owned(), "a".to_owned()].into()];
        Line: VecDeque<bool> = [VecDeque::from([true, true])];
        Plain: BTreeMap<String, i32> = [BTreeMap::new(), [("a b/c.d".to_owned(), 1)].into()];
        ByLevel: BTreeMap<Level, String> = [[(Level::VeryLow, "x".to_owned())].into()];
        ByName: HashMap<Name, Vec<u8>> = [[(Name("a".into()), vec![1])].into()];
        ByChar: BTreeMap<char, bool> = [[('x', true)].into()];
        ByAddress: BTreeMap<IpAddr, u8> = [[(IpAddr::V6(Ipv6Addr::LOCALHOST), 1), (IpAddr::from([10, 0, 0, 1]), 2)].into()];
        ByFile: BTreeMap<PathBuf, Arc<str>> = [[("/etc/hosts".into(), "a".into())].into()];
        ByListener: HashMap<SocketAddr, Arc<Person>> = [[("[::1]:80".parse().unwrap(), Arc::new(person(None)))].into()];
        MaybeValues: BTreeMap<String, Option<i32>> = [[("a".to_owned(), None), ("b".to_owned(), Some(1))].into()];
        Anything: Value = [json!(1), json!("x"), json!({"a": [1, {"b": null}]}), json!([])];
        ByAnything: BTreeMap<String, Value> = [[("a".to_owned(), json!(null)), ("b".to_owned(), json!([1]))].into()];
        OpenMap: Map<String, Value> = [from_json(json!({"a": {"b": 1}}))];
        ListOfAnything: Vec<Value> = [vec![json!(null), json!(1), json!("a")]];
        Maps: BTreeMap<String, BTreeMap<String, Person>> = [[("a".into(), [("b".into(), person(None))].into())].into()];
    }
}

pub(crate) async fn enums_come_back_as_they_were(target: &Target) {
    forms! { target;
        Names: Level = [Level::VeryLow, Level::High];
        Externally: External = [
            External::One { first: 1 }, External::TwoOf(person(None)), External::Three {}, External::Four(4),
            External::Five(vec![Level::High]),
        ];
        Internally: Internal = [
            Internal::Nothing, Internal::Some { the_level: Level::High }, Internal::Of(person(Some(3))),
        ];
        Adjacently: Adjacent = [
            Adjacent::Nothing, Adjacent::Of(person(None)), Adjacent::Fields { name: "a".into() },
        ];
        Untagged: Either = [Either::Number(1), Either::Text("a".into())];
        UntaggedObjects: Shape = [Shape::Circle { radius: 1 }, Shape::Square { side: 1 }];
        Nested: Outer = [
            Outer::Inner(Internal::Nothing),
            Outer::Inner(Internal::Some { the_level: Level::VeryLow }),
            Outer::Deeper {
                either: External::Three {},
                shapes: vec![Shape::Square { side: 2 }],
            },
            Outer::WithAlias(Moved { new_name: "a".into(), new_count: 1 }),
        ];
        MaybeEnum: Option<Internal> = [None, Some(Internal::Nothing)];
        ListOfEnums: Vec<External> = [vec![External::Three {}, External::Four(1)]];
    }
}

pub(crate) async fn structs_come_back_as_they_were(target: &Target) {
    forms! { target;
        Newtype: Name = [Name("a".into())];
        Through: Transparent = [Transparent { inner: vec![person(None)] }];
        AsText: Converted = [Converted(1, 2)];
        OneTag: Tagged = [Tagged { name: "a".into() }];
        FlatEnums: FlattenedEnums = [
            FlattenedEnums {
                name: "a".into(),
                internal: Internal::Some { the_level: Level::High },
                shape: Shape::Square { side: 3 },
            },
        ];
        FlatExternal: FlattenedExternal = [
            FlattenedExternal { name: "a".into(), external: External::TwoOf(person(None)) },
        ];
        FlatOption: FlattenedOption = [
            FlattenedOption { name: "a".into(), person: Some(person(None)) },
            FlattenedOption { name: "a".into(), person: None },
        ];
        FlatRest: FlattenedRest = [
            FlattenedRest { name: "a".into(), rest: from_json(json!({"b": [1], "c": {"d": true}})) },
        ];
        Defaults: WithDefaults = [
            WithDefaults::default(),
            WithDefaults { number: 1, words: vec![], odd: Some(true), ..Default::default() },
        ];
        Recursive: Tree = [tree("a", vec![tree("b", vec![tree("c", vec![])]), tree("d", vec![])])];
        Generic: Of<Of<Option<Person>>> = [Of { value: Of { value: Some(person(None)) } }];
        Rules: RenameRules = [RenameRules::all()];
        Renamed: Moved = [Moved { new_name: "a".into(), new_count: 2 }];
        Extension: RawExtension = [RawExtension(json!({"apiVersion": "v1", "kind": "Pod", "spec": {"a": 1}}))];
        Template: PodTemplateSpec = [from_json(json!({
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "a", "image": "b", "ports": [{"containerPort": 80, "protocol": "UDP"}],
                "env": [{"name": "A", "value": "b"}]}]},
        }))];
        Selector: LabelSelector = [from_json(json!({"matchLabels": {"a": "b"}}))];
        SecretKey: SecretKeySelector = [from_json(json!({"name": "a", "key": "b"}))];
        LocalReference: LocalObjectReference = [from_json(json!({"name": "a"}))];
        Needs: ResourceRequirements = [from_json(json!({"limits": {"cpu": "1", "memory": "1Gi"}}))];
        Variables: Vec<EnvVar> = [vec![from_json(json!({"name": "A", "value": "b"}))]];
        Conditions: Vec<Condition> = [vec![from_json(json!({
            "type": "Ready", "status": "True", "reason": "Fine", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z",
        }))]];
    }
}

pub(crate) async fn an_older_name_is_kept_and_read(target: &Target) {
    #[derive(pilothouse::Resource, Clone, Debug)]
    #[resource(group = "forms.pilothouse.dev", version = "v1", namespaced)]
    struct Older {
        metadata: ObjectMeta,
        spec: OlderSpec,
    }

    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    struct OlderSpec {
        #[serde(flatten)]
        moved: Moved,
        level: Level,
    }

    crd::install(&target.client, &[Older::crd().unwrap()], "forms").await.unwrap();
    let api = target.api::<Older>();
    let raw = Api::<DynamicObject>::of(
        &target.client,
        ApiResource::of::<Older>(),
        Some(&target.namespace),
    );
    let create = async |name: &str, spec: Value| {
        let object: DynamicObject = from_json(json!({
            "apiVersion": "forms.pilothouse.dev/v1", "kind": "Older", "metadata": {"name": name}, "spec": spec,
        }));
        raw.create(&PostParams::default(), &object).await
    };
    let spec = json!({"oldName": "a", "olderCount": 3, "level": "top"});
    create("older", spec).await.unwrap();
    let read = api.get("older").await.unwrap().spec;
    assert_eq!((read.moved.new_name.as_str(), read.moved.new_count), ("a", 3));
    assert_eq!(read.level, Level::High);
    for refused in [
        json!({"level": "high"}),
        json!({"oldName": "a", "newName": "b", "level": "high"}),
        json!({"newName": "a", "oldCount": 1, "olderCount": 2, "level": "high"}),
        json!({"newName": "a", "level": "higher"}),
    ] {
        let error = create("refused", refused.clone()).await.unwrap_err();
        assert!(error.is_invalid(), "{refused}: {error}");
    }
}

/// Neither applier forces anything: a list without its type would be a conflict.
pub(crate) async fn two_appliers_share_the_containers_of_a_template(target: &Target) {
    #[derive(pilothouse::Resource, Clone, Debug)]
    #[resource(group = "forms.pilothouse.dev", version = "v1", namespaced)]
    struct Shared {
        metadata: ObjectMeta,
        spec: Of<PodTemplateSpec>,
    }

    crd::install(&target.client, &[Shared::crd().unwrap()], "forms").await.unwrap();
    let api = target.api::<Shared>();
    let apply = async |manager: &str, container: Value| {
        let object = json!({
            "apiVersion": "forms.pilothouse.dev/v1", "kind": "Shared", "metadata": {"name": "shared"},
            "spec": {"value": {"spec": {"containers": [container]}}},
        });
        let patch = Patch::Apply(object);
        let applied = api.patch("shared", &PatchParams::apply(manager), &patch).await.unwrap();
        applied.spec.value.spec.unwrap().containers
    };
    let web = json!({
        "name": "web", "image": "nginx", "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 80}],
    });
    apply("operator", web.clone()).await;
    apply("mesh", json!({"name": "log", "image": "fluent"})).await;
    let added = json!({
        "name": "web", "env": [{"name": "B", "value": "2"}], "ports": [{"containerPort": 80, "protocol": "UDP"}],
    });
    apply("tracing", added).await;
    let mut containers = apply("operator", web).await;
    containers.sort_by(|one, other| one.name.cmp(&other.name));
    let of_web = json!({
        "name": "web", "image": "nginx", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "UDP"}],
    });
    assert_eq!(json!(containers), json!([{"name": "log", "image": "fluent"}, of_web]));
}
