use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use serde_json::json;
use tower::{BoxError, service_fn};

use super::{Dice, server::Server};
use crate::{
    client::{Body, Client, Config},
    controller::tests::world::{named_key, pass},
};

/// Answers the requests of the controllers for children: reads and applies of one child. Answers come late or not at all, and
/// some writes are applied without an answer.
#[derive(Clone)]
pub(super) struct Requests {
    pub(super) children: Server<ConfigMap>,
    pub(super) dice: Dice,
    pub(super) healthy: Arc<Mutex<bool>>,
}

type Answer = Result<Response<Body>, BoxError>;

impl Requests {
    /// A client whose requests are answered here.
    pub(super) fn client(&self) -> Client {
        let requests = self.clone();
        let config = Config::new("http://load".parse().unwrap());
        let builder = Client::builder(config).stack(move |_| {
            let requests = requests.clone();
            service_fn(move |request| requests.clone().answer(request))
        });
        builder.build().unwrap()
    }

    async fn answer(self, request: Request<Body>) -> Answer {
        let path = request.uri().path();
        let name = path.strip_prefix("/api/v1/namespaces/default/configmaps/");
        let key = named_key(name.unwrap_or_else(|| panic!("unexpected request for {path}")));
        pass(1 + self.dice.below(100)).await;
        let read = request.method() == Method::GET;
        let refused = match self.luck(8) {
            false => None,
            true if read || self.dice.percent(50) => Some((503, "ServiceUnavailable")),
            true => Some((409, "Conflict")),
        };
        if let Some((code, reason)) = refused {
            return status(code, reason);
        }
        if read {
            return match self.children.get(&key) {
                Some(child) => answer(200, &child),
                None => status(404, "NotFound"),
            };
        }
        assert_eq!(request.method(), Method::PATCH);
        let body = request.into_body().collect().await?.to_bytes();
        let child = self.children.apply(serde_json::from_slice(&body)?);
        pass(self.dice.below(50)).await;
        match self.luck(4) {
            true => Err("the connection broke".into()),
            false => answer(200, &child),
        }
    }

    fn luck(&self, chance: u64) -> bool {
        !*self.healthy.lock() && self.dice.percent(chance)
    }
}

fn answer(code: u16, body: &impl serde::Serialize) -> Answer {
    let mut response = Response::new(Body::from(serde_json::to_vec(body)?));
    *response.status_mut() = StatusCode::from_u16(code)?;
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert("content-type", json);
    Ok(response)
}

fn status(code: u16, reason: &str) -> Answer {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {},
        "message": "as the test wants it", "reason": reason, "code": code});
    answer(code, &status)
}
