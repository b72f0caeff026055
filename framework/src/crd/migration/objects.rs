use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::json;

use super::MigrationProgress;
use crate::{
    client::{Api, Client, Error, ErrorKind, ListParams, MissingRule, Patch, PatchParams},
    resource::{ApiResource, Object, PartialObject},
};

/// The largest number of objects in a page.
const PAGE: u32 = 500;
/// The largest number of writes at once.
const CONCURRENCY: usize = 8;
/// The largest number of refused objects that an error names.
const NAMED: usize = 20;

/// How the objects of a kind were written.
#[derive(Default)]
pub(super) struct Written {
    /// Objects that were written.
    pub(super) written: usize,
    /// Objects that were stored in the right version already.
    pub(super) skipped: usize,
    /// The number of objects that the server refused to write, and the first of them with the reason.
    pub(super) refused: usize,
    pub(super) refusals: Vec<String>,
}

/// What became of one object.
enum Outcome {
    Written,
    Skipped,
    Refused(String),
}

/// The resource version of all objects together.
pub(super) async fn version_now(client: &Client, kind: &ApiResource) -> Result<String, Error> {
    let api = Api::<PartialObject>::of(client, kind.clone(), None);
    let list = api.list(&ListParams::default().limit(1)).await?;
    Ok(list.resource_version().unwrap_or_default().to_owned())
}

/// Writes each object of a kind that was not written after the resource version `since`.
pub(super) async fn rewrite(
    client: &Client,
    kind: &ApiResource,
    since: &str,
    field_manager: &str,
    progress: &mut (dyn FnMut(MigrationProgress) + Send),
) -> Result<Written, Error> {
    let api = Api::<PartialObject>::of(client, kind.clone(), None);
    let params = ListParams::default().limit(PAGE);
    let mut done = Written::default();
    let mut written_before = 0;
    let mut pages = api.pages(&params);
    loop {
        let page = match pages.try_next().await {
            Ok(Some(page)) => page,
            Ok(None) => break,
            // It took longer than the server keeps a list. The next list skips what is written already.
            Err(error) if error.is_expired() && done.written > 0 => {
                written_before += done.written;
                done = Written::default();
                pages = api.pages(&params);
                continue;
            }
            Err(error) => return Err(error),
        };
        let remaining = page.remaining();
        if let Some(object) = page.undecodable.into_iter().next() {
            return Err(Error::undecodable("list", object));
        }
        let writes = page
            .items
            .iter()
            .map(async |object| match is_later(object, since) {
                true => Ok(Outcome::Skipped),
                false => write(client, kind, object, field_manager).await,
            });
        let mut outcomes = stream::iter(writes).buffer_unordered(CONCURRENCY);
        while let Some(outcome) = outcomes.next().await {
            match outcome? {
                Outcome::Written => done.written += 1,
                Outcome::Skipped => done.skipped += 1,
                Outcome::Refused(refusal) => {
                    done.refused += 1;
                    if done.refusals.len() < NAMED {
                        done.refusals.push(refusal);
                    }
                }
            }
        }
        progress(MigrationProgress::Objects {
            done: done.written + done.skipped + done.refused,
            remaining,
        });
    }
    done.written += written_before;
    done.skipped = done.skipped.saturating_sub(written_before);
    Ok(done)
}

/// Whether an object was written after a resource version.
fn is_later(object: &PartialObject, since: &str) -> bool {
    let version = object.resource_version().unwrap_or_default();
    let (version, since) = (version.parse::<u64>(), since.parse::<u64>());
    version.is_ok_and(|version| since.is_ok_and(|since| version > since))
}

/// Writes an object without a change. The server notices that it is stored in another version.
async fn write(
    client: &Client,
    kind: &ApiResource,
    object: &PartialObject,
    field_manager: &str,
) -> Result<Outcome, Error> {
    let api = Api::<PartialObject>::of(client, kind.clone(), object.namespace());
    let params = PatchParams::default().field_manager(field_manager);
    let same =
        json!({"metadata": {"uid": object.uid(), "resourceVersion": object.resource_version()}});
    match api.patch(object.name(), &params, &Patch::Merge(same)).await {
        Ok(_) => Ok(Outcome::Written),
        // Somebody else has written or deleted it since.
        Err(error) if error.is_conflict() => Ok(Outcome::Skipped),
        Err(error) if error.is_not_found() && !error.is_not_served() => Ok(Outcome::Skipped),
        Err(error) if is_about_object(&error) => Ok(Outcome::Refused(error.to_string())),
        Err(error) => Err(error),
    }
}

/// Whether the server refuses this object, and perhaps not others. Without the permission it would refuse each.
fn is_about_object(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Api(status) if status.code == 403 => {
            let missing = MissingRule::of(&status.message);
            // A webhook may tell of a permission that it lacks itself.
            status.message.starts_with("admission webhook")
                || missing.is_none_or(|rule| rule.verb != "patch")
        }
        ErrorKind::Api(status) => matches!(status.code, 400 | 406 | 413 | 422 | 500),
        _ => false,
    }
}
