//! The sizes of the futures of a request. Each worker of a controller has one of each, and a build without optimisation
//! copies a future in each call on its way.

use futures_core::future::BoxFuture;
use http::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use tower::{Layer, Service, service_fn};

use crate::{
    client::{Api, Body, BoxError, Client, Config, Patch, PatchParams, rest::Call, stack::Steps},
    resource::ApiResource,
};

type Maps = &'static Api<ConfigMap>;
type PatchCall = (Maps, &'static PatchParams, &'static Patch);
type Answer = Result<Response<Body>, BoxError>;

/// The size in bytes of the future that a function returns.
fn size<A, F: Future>(_: impl FnOnce(A) -> F) -> usize {
    size_of::<F>()
}

/// The size in bytes of what the future of a service holds.
fn size_of_call<S>(mut service: S) -> usize
where
    S: Service<Request<Body>, Future = BoxFuture<'static, Answer>>,
{
    size_of_val(&*service.call(Request::new(Body::empty())))
}

fn check(what: &str, size: usize, most: usize) {
    assert!(size <= most, "{what}: {size} bytes, at most {most}");
}

#[tokio::test]
async fn the_futures_of_a_request_are_small() {
    check("get", size(|maps: Maps| maps.get("a")), 400);
    let patch = size(|(maps, params, patch): PatchCall| maps.patch("a", params, patch));
    check("patch", patch, 1000);

    let client = Client::from_service(service_fn(|_: Request<Body>| async {
        Ok::<_, BoxError>(Response::new(String::new()))
    }));
    let maps = ApiResource::of::<ConfigMap>();
    let call = Call {
        verb: "get",
        resource: &maps,
        namespace: Some("default"),
        name: Some("a"),
        subresource: None,
        metadata_only: false,
        all_fields: false,
    };
    let fetch = client.fetch(&call, String::new(), None);
    check("fetch", size_of_val(&*fetch), 1500);
}

#[tokio::test]
async fn the_futures_of_the_steps_of_a_request_are_small() {
    let measured = |steps: Steps| {
        check("pool", size_of_call(steps.pool.clone()), 1500);
        let inner = (
            &steps.impersonate,
            &steps.user_agent,
            &steps.warnings,
            &steps.base,
            &steps.gzip,
            &steps.response_deadline,
        );
        let inner = inner.layer(steps.pool.clone());
        check("auth", size_of_call(steps.auth.layer(inner)), 1500);
        check(
            "retry",
            size_of_call(steps.retry.layer(steps.attempt())),
            1500,
        );
        steps.request()
    };
    let config = Config::new("http://sandbox".parse().unwrap());
    Client::builder(config).stack(measured).build().unwrap();
}
