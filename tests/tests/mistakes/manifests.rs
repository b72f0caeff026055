//! Texts that the framework reads: manifests, selectors, durations.

use pilothouse::{
    k8s::api::{apps::v1::Deployment, core::v1::ConfigMap},
    resource::{Scheme, Selector, duration},
};

use super::{Mistake, error, mistake};

fn seen(text: &str) -> String {
    let scheme = Scheme::new()
        .with::<ConfigMap>()
        .with::<Deployment>()
        .strict();
    let errors = scheme.decode(text).into_iter().filter_map(Result::err);
    errors.map(|error| format!("{error}\n")).collect()
}

pub(super) fn all() -> Vec<Mistake> {
    let object =
        |rest: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n{rest}");
    let selector = |text: &str| error(text.parse::<Selector>());
    vec![
        mistake(
            "A manifest has no `kind`.",
            seen("apiVersion: v1\nmetadata:\n  name: a\n"),
        ),
        mistake(
            "A manifest has no `apiVersion`.",
            seen("kind: ConfigMap\nmetadata:\n  name: a\n"),
        ),
        mistake(
            "The scheme does not have the kind.",
            seen("apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n"),
        ),
        mistake(
            "A manifest has a field that does not exist.",
            seen(&object("dta: {}\n")),
        ),
        mistake(
            "A value is a number and should be a text.",
            seen(&object("data:\n  port: 80\n")),
        ),
        mistake(
            "A value is a truth value and should be a text.",
            seen(&object("data:\n  tls: yes\n")),
        ),
        mistake(
            "A key occurs twice.",
            seen(&object("data:\n  a: x\n  a: y\n")),
        ),
        mistake(
            "A line is indented with a tab.",
            seen(&object("data:\n\ta: x\n")),
        ),
        mistake("A bracket is not closed.", seen(&object("data: {a: x\n"))),
        mistake(
            "A number is a text.",
            seen(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\nspec:\n  replicas: two\n",
            ),
        ),
        mistake("A selector has no value.", selector("app in")),
        mistake("A selector has an invalid key.", selector("my app=web")),
        mistake("A duration has no unit.", error(duration::parse("90"))),
        mistake("A duration has days.", error(duration::parse("2d"))),
        mistake("A duration is negative.", error(duration::parse("-1h"))),
    ]
}
