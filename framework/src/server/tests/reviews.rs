use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::{Method, Request, Response, header::AUTHORIZATION};
use http_body_util::BodyExt;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject};
use parking_lot::Mutex;
use pilothouse_sandbox::{Answer, RequestMatcher, Sandbox};
use tokio::time::Instant;

use super::bytes;
use crate::{
    client::{Api, Body, BoxError, Client, Config, DeleteParams, PostParams},
    health::Checks,
    logged::logged,
    resource::Object,
    server::{Reviewer, Routes},
};

/// A sandbox with users and RBAC, and protected routes.
struct Guarded {
    sandbox: Sandbox,
    client: Client,
    reviewer: Reviewer,
    routes: Arc<Routes>,
}

impl Guarded {
    /// The token `prom` may read `/metrics`; the token `ann` is valid but has no permission.
    async fn new() -> Self {
        let none = [""; 0];
        let sandbox = Sandbox::builder()
            .seed(1)
            .rbac(true)
            .token("prometheus", "prom", none)
            .token("ann", "ann", none)
            .build()
            .unwrap();
        let connected = sandbox.clone();
        let config = Config::new("http://sandbox".parse().unwrap());
        let client = Client::builder(config).connector(Arc::new(move || Ok(connected.connect())));
        let client = client.build().unwrap();
        let reviewer = Reviewer::new(client.clone());
        let protected = Routes::new()
            .get("/metrics", |_| bytes(2))
            .get("/debug", |_| bytes(2));
        let routes = Routes::new()
            .health("/healthz", Checks::new("healthz"))
            .protected(&reviewer, protected);
        let guarded = Self {
            sandbox,
            client,
            reviewer,
            routes: Arc::new(routes),
        };
        guarded.allow("prometheus").await;
        guarded
    }

    async fn allow(&self, user: &str) {
        let role = ClusterRole {
            rules: Some(vec![PolicyRule {
                verbs: vec!["get".into()],
                non_resource_urls: Some(vec!["/metrics".into()]),
                ..PolicyRule::default()
            }]),
            ..named(user)
        };
        let binding = ClusterRoleBinding {
            subjects: Some(vec![Subject {
                kind: "User".into(),
                name: user.into(),
                api_group: Some("rbac.authorization.k8s.io".into()),
                namespace: None,
            }]),
            role_ref: RoleRef {
                api_group: Some("rbac.authorization.k8s.io".into()),
                kind: "ClusterRole".into(),
                name: user.into(),
            },
            ..named(user)
        };
        let params = PostParams::default();
        Api::all(&self.client).create(&params, &role).await.unwrap();
        Api::all(&self.client)
            .create(&params, &binding)
            .await
            .unwrap();
    }

    async fn deny(&self, user: &str) {
        let bindings = Api::<ClusterRoleBinding>::all(&self.client);
        bindings
            .delete(user, &DeleteParams::default())
            .await
            .unwrap();
    }

    async fn ask(&self, method: Method, path: &str, authorization: Option<&str>) -> (u16, String) {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Body::empty()).unwrap();
        let reply = self.routes.answer(request, || true).await;
        let status = reply.status().as_u16();
        let body = reply.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8_lossy(&body).into_owned())
    }

    async fn read(&self, token: &str) -> u16 {
        let bearer = format!("Bearer {token}");
        self.ask(Method::GET, "/metrics", Some(&bearer)).await.0
    }

    /// The number of reviews that the API server received: TokenReviews and SubjectAccessReviews.
    fn reviews(&self) -> (usize, usize) {
        let requests = self.sandbox.requests();
        let of = |resource: &str| {
            let asked = requests
                .iter()
                .filter(|request| request.resource == resource);
            asked.count()
        };
        (of("tokenreviews"), of("subjectaccessreviews"))
    }
}

fn named<K: Object + Default>(name: &str) -> K {
    let mut object = K::default();
    object.metadata_mut().name = Some(name.into());
    object
}

async fn after(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn only_authenticated_and_authorized_users_pass_and_health_is_open() {
    let guarded = Guarded::new().await;
    let get = Method::GET;
    let unauthorized = (401, "Unauthorized\n".to_owned());
    for authorization in [
        None,
        Some(""),
        Some("Bearer"),
        Some("Bearer "),
        Some("Bearer  prom"),
        Some("Basic prom"),
        Some("Bearer wrong"),
        Some("Bearer prom2"),
    ] {
        let answer = guarded.ask(get.clone(), "/metrics", authorization).await;
        assert_eq!(answer, unauthorized, "{authorization:?}");
    }
    let ok = (200, "xx".to_owned());
    for authorization in ["Bearer prom", "bearer prom", "  BEARER prom  "] {
        let answer = guarded
            .ask(get.clone(), "/metrics", Some(authorization))
            .await;
        assert_eq!(answer, ok, "{authorization:?}");
    }
    let denied = |user| (403, format!("Authorization denied for user {user}\n"));
    let prometheus = Some("Bearer prom");
    for (method, path) in [
        (get.clone(), "/debug"),
        (Method::HEAD, "/metrics"),
        (Method::POST, "/metrics"),
    ] {
        assert_eq!(
            guarded.ask(method, path, prometheus).await,
            denied("prometheus"),
            "{path}"
        );
    }
    assert_eq!(
        guarded
            .ask(get.clone(), "/metrics", Some("Bearer ann"))
            .await,
        denied("ann")
    );
    assert_eq!(
        guarded.ask(get.clone(), "/healthz", None).await,
        (200, "ok".into())
    );
    assert_eq!(guarded.ask(get, "/none", None).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn a_review_is_remembered_for_its_lifetime_and_no_longer() {
    let guarded = Guarded::new().await;
    assert_eq!(guarded.read("prom").await, 200);
    after(59).await;
    assert_eq!(guarded.read("prom").await, 200);
    assert_eq!(guarded.reviews(), (1, 1));
    after(2).await;
    assert_eq!(guarded.read("prom").await, 200);
    assert_eq!(guarded.reviews(), (2, 1));

    guarded.deny("prometheus").await;
    after(235).await;
    assert_eq!(guarded.read("prom").await, 200);
    after(10).await;
    assert_eq!(guarded.read("prom").await, 403);
    assert_eq!(guarded.reviews().1, 2);

    guarded.allow("ann").await;
    assert_eq!(guarded.read("ann").await, 200);
    assert_eq!(guarded.read("prom").await, 403);
    assert_eq!(guarded.reviews().1, 3);
    after(31).await;
    assert_eq!(guarded.read("prom").await, 403);
    assert_eq!(guarded.reviews().1, 4);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_becomes_valid_is_accepted_after_ten_seconds() {
    let guarded = Guarded::new().await;
    assert_eq!(guarded.read("later").await, 401);
    assert_eq!(guarded.read("later").await, 401);
    assert_eq!(guarded.reviews(), (1, 0));
    after(11).await;
    assert_eq!(guarded.read("later").await, 401);
    assert_eq!(guarded.reviews(), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn equal_requests_at_the_same_time_cause_one_review() {
    let guarded = Guarded::new().await;
    let asked = (0..50).map(|_| guarded.read("prom"));
    let answers = futures_util::future::join_all(asked).await;
    assert_eq!(answers, vec![200; 50]);
    assert_eq!(guarded.reviews(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_leaves_its_review_to_the_next_one() {
    let guarded = Guarded::new().await;
    {
        let asked = guarded.read("prom");
        tokio::pin!(asked);
        // The review is sent, and nothing more happens.
        let first = futures_util::future::poll_immediate(&mut asked).await;
        assert_eq!(first, None);
    }
    assert_eq!(guarded.read("prom").await, 200);
}

#[tokio::test(start_paused = true)]
async fn no_request_passes_while_reviews_fail() {
    let guarded = Guarded::new().await;
    let away = || Answer::status(500, "InternalError");
    for resource in ["tokenreviews", "subjectaccessreviews"] {
        let reviews = RequestMatcher::any().resource(resource);
        guarded.sandbox.faults().answer(reviews, away(), 1);
        assert_eq!(guarded.read("prom").await, 500, "{resource}");
    }
    // A failure is not remembered.
    assert_eq!(guarded.read("prom").await, 200);
}

#[tokio::test(start_paused = true)]
async fn a_refused_review_names_the_missing_rule_and_the_cluster_role() {
    let (log, _guard) = logged(tracing::Level::INFO);
    let message = "tokenreviews.authentication.k8s.io is forbidden: User \"op\" cannot create resource \"tokenreviews\" \
                   in API group \"authentication.k8s.io\" at the cluster scope";
    let refusing = tower::service_fn(move |_: Request<Body>| async move {
        let status = serde_json::json!({"code": 403, "reason": "Forbidden", "message": message});
        Ok::<_, BoxError>(Response::builder().status(403).body(status.to_string())?)
    });
    let reviewer = Reviewer::new(Client::from_service(refusing));
    let routes = Routes::new().protected(&reviewer, Routes::new().get("/", |_| bytes(2)));
    let request = Request::get("/").header(AUTHORIZATION, "Bearer token-of-a-scraper");
    let request = request.body(Body::empty()).unwrap();
    assert_eq!(routes.answer(request, || true).await.status(), 500);
    let said = log.text();
    let advice = "bind op to a ClusterRole with apiGroups: [\"authentication.k8s.io\"], resources: [\"tokenreviews\"], \
                  verbs: [\"create\"]; the ClusterRole system:auth-delegator allows all reviews";
    assert!(said.contains(advice), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_failing_review_is_one_line_per_minute_without_the_token() {
    let (log, _guard) = logged(tracing::Level::INFO);
    let repeating = tower::service_fn(|request: Request<Body>| async {
        let review = request.into_body().collect().await?.to_bytes();
        let review: serde_json::Value = serde_json::from_slice(&review)?;
        let token = review["spec"]["token"].as_str().unwrap_or_default();
        let status = serde_json::json!({"code": 400, "message": format!("no such token: {token}")});
        let answer = Response::builder().status(400);
        Ok::<_, BoxError>(answer.body(status.to_string())?)
    });
    let reviewer = Reviewer::new(Client::from_service(repeating));
    let routes = Routes::new().protected(&reviewer, Routes::new().get("/", |_| bytes(2)));
    let ask = async |number: usize| {
        let token = format!("Bearer token-of-a-scraper-{number}");
        let request = Request::get("/").header(AUTHORIZATION, token);
        let request = request.body(Body::empty()).unwrap();
        assert_eq!(routes.answer(request, || true).await.status(), 500);
    };
    for number in 0..50 {
        ask(number).await;
    }
    after(60).await;
    ask(50).await;
    let said = log.text();
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(said.contains(": 50 requests were refused since"), "{said}");
    assert_eq!(
        said.matches("no such token: <redacted>").count(),
        2,
        "{said}"
    );
    assert!(!said.contains("token-of-a-scraper"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn at_most_eight_reviews_run_at_once() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let silent = tower::service_fn(move |_: Request<Body>| {
        counter.fetch_add(1, Ordering::Relaxed);
        std::future::pending::<Result<Response<String>, BoxError>>()
    });
    let reviewer = Reviewer::new(Client::from_service(silent));
    let routes = Routes::new().protected(&reviewer, Routes::new().get("/", |_| bytes(2)));
    let requests = (0..20).map(|number| {
        let request = Request::get("/").header(AUTHORIZATION, format!("Bearer guess-{number}"));
        let request = request.body(Body::empty()).unwrap();
        routes.answer(request, || true)
    });
    let answers = futures_util::future::join_all(requests);
    let answered = tokio::time::timeout(Duration::from_secs(1), answers).await;
    assert!(answered.is_err());
    assert_eq!(asked.load(Ordering::Relaxed), 8);
}

#[tokio::test(start_paused = true)]
async fn a_review_without_a_response_fails_after_ten_seconds() {
    let unserved = Mutex::new(Vec::new());
    let connector = move || {
        let (ours, theirs) = tokio::io::duplex(4096);
        unserved.lock().push(theirs);
        Ok(ours)
    };
    let config = Config::new("http://sandbox".parse().unwrap());
    let client = Client::builder(config).connector(Arc::new(connector));
    let reviewer = Reviewer::new(client.build().unwrap());
    let routes = Routes::new().protected(&reviewer, Routes::new().get("/", |_| bytes(2)));
    let request = Request::get("/").header(AUTHORIZATION, "Bearer prom");
    let request = request.body(Body::empty()).unwrap();
    let began = Instant::now();
    assert_eq!(routes.answer(request, || true).await.status(), 500);
    assert_eq!(began.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn the_number_of_remembered_reviews_is_bounded() {
    let guarded = Guarded::new().await;
    for number in 0..1500 {
        assert_eq!(guarded.read(&format!("guess-{number}")).await, 401);
    }
    assert!(guarded.reviewer.remembered() <= 1024);
    assert_eq!(guarded.read("prom").await, 200);
}

#[test]
fn a_reviewer_states_the_permissions_that_it_needs() {
    let access = Reviewer::access();
    let needed: Vec<_> = access
        .iter()
        .map(|one| (&*one.verb, &*one.group, &*one.resource))
        .collect();
    assert_eq!(
        needed,
        [
            ("create", "authentication.k8s.io", "tokenreviews"),
            ("create", "authorization.k8s.io", "subjectaccessreviews"),
        ]
    );
}
