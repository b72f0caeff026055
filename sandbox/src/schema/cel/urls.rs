//! `url`, `isURL` and the parts of a URL.

use std::collections::HashMap;
use std::sync::Arc;

use cel::common::types::Type;
use cel::objects::Opaque;
use cel::{Env, ExecutionError, Value};
use percent_encoding::percent_decode_str;

use super::functions::{
    Args, Declared, FunctionResult, declare, fail, no_overload, text, to_result, values,
};

const TYPE: &str = "kubernetes.URL";

#[derive(Clone, Debug, PartialEq, Eq)]
struct Url {
    scheme: String,
    host: String,
    path: String,
    query: String,
}

impl Opaque for Url {
    fn runtime_type_name(&self) -> &str {
        TYPE
    }
}

impl Url {
    /// Parses an absolute URI or a rooted path, as Go's `ParseRequestURI` does.
    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || text.chars().any(|c| c.is_control() || c == ' ') {
            return None;
        }
        let (scheme, rest) = match text.strip_prefix('/') {
            Some(_) => ("", text),
            None => {
                let (scheme, rest) = text.split_once(':')?;
                let mut letters = scheme.chars();
                let starts = letters.next().is_some_and(|c| c.is_ascii_alphabetic());
                let fits = letters.all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
                (starts && fits && rest.starts_with('/')).then_some((scheme, rest))?
            }
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (host, path) = match rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
            Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            None => ("", rest),
        };
        let host = host.rsplit('@').next().unwrap_or(host);
        let port = port_of(host);
        port.bytes().all(|b| b.is_ascii_digit()).then(|| Self {
            scheme: scheme.to_ascii_lowercase(),
            host: host.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
        })
    }
}

fn port_of(host: &str) -> &str {
    let after = host.rsplit(']').next().unwrap_or(host);
    after.rsplit_once(':').map_or("", |(_, port)| port)
}

pub(super) fn register(env: &mut Env) {
    let method = |name, id, run| Declared {
        name,
        id,
        on: Some(Type::new_opaque_type(TYPE)),
        args: 0,
        run,
    };
    let function = |name, run| Declared {
        name,
        id: name,
        on: None,
        args: 1,
        run,
    };
    declare(
        env,
        vec![
            function("url", url),
            function("isURL", is_url),
            method("getScheme", "url_get_scheme", get_scheme),
            method("getHost", "url_get_host", get_host),
            method("getHostname", "url_get_hostname", get_hostname),
            method("getPort", "url_get_port", get_port),
            method("getEscapedPath", "url_get_escaped_path", get_escaped_path),
            method("getQuery", "url_get_query", get_query),
        ],
    );
}

fn get(function: &str, args: Args<'_, '_>) -> Result<Url, ExecutionError> {
    let values = values(args)?;
    match values.first() {
        Some(Value::Opaque(opaque)) => opaque.downcast_ref::<Url>().cloned(),
        _ => None,
    }
    .ok_or_else(|| no_overload(function, &values))
}

fn url<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    let text = text("url", &values, 0)?;
    let url = Url::parse(&text);
    let url = url.ok_or_else(|| {
        fail(
            "url",
            format!("URL parse error during conversion from string: {text:?}"),
        )
    })?;
    to_result("url", Value::Opaque(Arc::new(url)))
}

/// Whether a text can be the target of a request, as Go's `ParseRequestURI` decides.
pub(super) fn is_request(text: &str) -> bool {
    Url::parse(text).is_some()
}

fn is_url<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    let text = text("isURL", &values, 0)?;
    to_result("isURL", is_request(&text))
}

fn get_scheme<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    to_result("getScheme", get("getScheme", args)?.scheme)
}

fn get_host<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    to_result("getHost", get("getHost", args)?.host)
}

fn get_hostname<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let host = get("getHostname", args)?.host;
    let port = port_of(&host);
    let name = match port.len() {
        0 => host.trim_end_matches(':'),
        n => host.get(..host.len() - n - 1).unwrap_or_default(),
    };
    to_result("getHostname", name.trim_matches(['[', ']']).to_owned())
}

fn get_port<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let host = get("getPort", args)?.host;
    to_result("getPort", port_of(&host).to_owned())
}

fn get_escaped_path<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    to_result("getEscapedPath", get("getEscapedPath", args)?.path)
}

fn get_query<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let query = get("getQuery", args)?.query;
    let decode = |text: &str| {
        let text = text.replace('+', " ");
        percent_decode_str(&text).decode_utf8_lossy().into_owned()
    };
    let mut all: HashMap<String, Vec<Value>> = HashMap::new();
    for pair in query.split('&').filter(|p| !p.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = Value::String(Arc::new(decode(value)));
        all.entry(decode(name)).or_default().push(value);
    }
    let all: HashMap<String, Value> = all
        .into_iter()
        .map(|(name, values)| (name, Value::List(Arc::new(values))))
        .collect();
    to_result("getQuery", all)
}
