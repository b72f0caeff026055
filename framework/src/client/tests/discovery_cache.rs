//! What mappers keep in files, and which files they believe.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use super::{
    discovery::{aggregated, client, path, shown},
    server::{Site, json as json_text},
};
use crate::client::{DiscoveryCache, RestMapper};

const HOUR: Duration = Duration::from_secs(3600);

fn site() -> Site {
    Site::new(|seen| aggregated(path(seen)))
}

/// A mapper of another process.
fn mapper(site: &Site, folder: &Path) -> RestMapper {
    RestMapper::cached(&client(site), DiscoveryCache::new(folder).lifetime(HOUR))
}

/// The only file of the folder, which has no other entries.
fn file(folder: &Path) -> PathBuf {
    let entries: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let [file] = &entries[..] else {
        panic!("{entries:?}");
    };
    file.clone()
}

/// A folder with the file of a mapper that has read the server.
async fn filled() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    mapper(&site(), folder.path()).find("po").await.unwrap();
    let file = file(folder.path());
    (folder, file)
}

/// How many requests a mapper needs that begins with this content of the file.
async fn requests_with(change: impl FnOnce(&mut Value)) -> usize {
    let (folder, file) = filled().await;
    let mut content: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    change(&mut content);
    fs::write(&file, content.to_string()).unwrap();
    let site = site();
    mapper(&site, folder.path()).find("po").await.unwrap();
    site.seen().len()
}

#[tokio::test(start_paused = true)]
async fn another_process_needs_no_request_and_knows_the_same() {
    let folder = TempDir::new().unwrap();
    let (first, second) = (site(), site());
    let before = mapper(&first, folder.path()).discovery().await.unwrap();
    assert_eq!(first.seen().len(), 2);
    let mapper = mapper(&second, folder.path());
    assert_eq!(shown(&mapper.discovery().await.unwrap()), shown(&before));
    assert_eq!(
        mapper.find("sites").await.unwrap().to_string(),
        "sites.demo.dev/v2"
    );
    assert!(second.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn without_a_cache_nothing_is_written() {
    let folder = TempDir::new().unwrap();
    RestMapper::new(&client(&site())).find("po").await.unwrap();
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_name_that_the_file_lacks_leads_to_a_request_and_the_file_is_replaced() {
    let (folder, file) = filled().await;
    let old = fs::read_to_string(&file).unwrap();
    fs::write(&file, old.replace("deployments", "others")).unwrap();
    let site = site();
    let stale = mapper(&site, folder.path());
    assert_eq!(
        stale.find("deployments").await.unwrap().to_string(),
        "deployments.apps/v1"
    );
    assert_eq!(site.seen().len(), 2);
    let again = Site::silent();
    let third = mapper(&again, folder.path());
    assert!(third.find("deployments.apps").await.is_ok());
    assert!(again.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_file_counts_until_its_lifetime_is_over() {
    let at = |seconds: i64| {
        move |content: &mut Value| {
            let read_at = content["readAt"].as_i64().unwrap();
            content["readAt"] = (read_at + seconds).into();
        }
    };
    assert_eq!(requests_with(at(-3500)).await, 0);
    assert_eq!(requests_with(at(-3700)).await, 2);
    // The clock of another machine is ahead.
    assert_eq!(requests_with(at(100)).await, 2);
}

#[tokio::test(start_paused = true)]
async fn what_the_file_told_is_read_again_when_its_lifetime_is_over() {
    let (folder, _) = filled().await;
    let site = site();
    let mapper = mapper(&site, folder.path());
    mapper.find("po").await.unwrap();
    assert!(site.seen().is_empty());
    tokio::time::advance(HOUR + Duration::from_secs(1)).await;
    mapper.find("po").await.unwrap();
    assert!(!site.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn files_that_are_corrupt_or_of_another_server_or_format_are_ignored() {
    assert_eq!(requests_with(|_| {}).await, 0);
    assert_eq!(requests_with(|content| *content = Value::Null).await, 2);
    assert_eq!(
        requests_with(|content| content["server"] = "http://other".into()).await,
        2
    );
    assert_eq!(
        requests_with(|content| content["format"] = "other/1".into()).await,
        2
    );
    assert_eq!(
        requests_with(|content| content["served"]["items"] = 7.into()).await,
        2
    );
    let (folder, file) = filled().await;
    let half = fs::read(&file).unwrap();
    fs::write(&file, &half[..half.len() / 2]).unwrap();
    let site = site();
    mapper(&site, folder.path()).find("po").await.unwrap();
    assert_eq!(site.seen().len(), 2);
    // The next process finds a whole file again.
    let silent = Site::silent();
    mapper(&silent, folder.path()).find("po").await.unwrap();
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn folder_and_file_are_private_and_a_file_that_others_can_write_is_ignored() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let base = TempDir::new().unwrap();
    let folder = base.path().join("some/folder");
    mapper(&site(), &folder).find("po").await.unwrap();
    let file = file(&folder);
    assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
    for (mode, requests) in [(0o644, 0), (0o620, 2)] {
        fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        let site = site();
        mapper(&site, &folder).find("po").await.unwrap();
        assert_eq!(site.seen().len(), requests, "{mode:o}");
    }
    assert_eq!(mode(&file), 0o600, "it was replaced");
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_cannot_be_written_is_no_error() {
    let folder = TempDir::new().unwrap();
    let blocked = folder.path().join("file");
    fs::write(&blocked, "").unwrap();
    let mapper = mapper(&site(), &blocked.join("below"));
    assert_eq!(mapper.find("po").await.unwrap().to_string(), "pods/v1");
}

#[tokio::test(start_paused = true)]
async fn a_broken_group_is_not_kept_and_a_broken_core_group_keeps_everything_out() {
    let broken = |broken: &'static str| {
        Site::new(move |seen| match path(seen) {
            "/api" | "/apis" if path(seen) == broken => json_text(500, "{}"),
            "/apis/demo.dev/v2" => json_text(503, "{}"),
            "/apis" if broken.is_empty() => super::discovery::listed("/apis"),
            path => aggregated(path),
        })
    };
    let folder = TempDir::new().unwrap();
    mapper(&broken(""), folder.path()).find("po").await.unwrap();
    let site = site();
    let next = mapper(&site, folder.path());
    next.find("deployments").await.unwrap();
    assert!(site.seen().is_empty());
    assert!(next.find("sites").await.is_ok(), "it was read again");
    assert!(!site.seen().is_empty());
    let folder = TempDir::new().unwrap();
    mapper(&broken("/api"), folder.path())
        .find("deployments.apps")
        .await
        .unwrap();
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
}
