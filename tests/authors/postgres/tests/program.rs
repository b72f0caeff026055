//! The program itself: its subcommand, its flag, and its engine. These tests use real connections.
#![cfg(feature = "dev")]

mod world;

use std::process::Command;

use author_postgres::{Database, Engine, LineEngine, Place};
use pilothouse::{resource::ObjectKey, testing::Cluster};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
    task::spawn_blocking,
};
use world::from;

async fn program(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_author-postgres"));
    command.args(args);
    let output = spawn_blocking(move || command.output()).await.unwrap();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

#[tokio::test]
async fn list_prints_the_databases() {
    let api = Cluster::start().unwrap();
    api.install::<Database>().await.unwrap();
    let spec = json!({"clusterName": "main", "name": "shop", "owner": "ann"});
    let database: Database = from(json!({"metadata": {"name": "shop"}, "spec": spec}));
    api.create(&database).await.unwrap();
    let server = api.sandbox().serve_https(([127, 0, 0, 1], 0).into());
    let server = server.await.unwrap();
    let file = concat!(env!("CARGO_TARGET_TMPDIR"), "/postgres-kubeconfig");
    std::fs::write(file, api.sandbox().kubeconfig(&server)).unwrap();
    let listed = program(&["list", "--kubeconfig", file]).await;
    assert_eq!(listed, "default/shop\tmain/shop\tann\t-\tnot ready\n");
}

#[tokio::test]
async fn the_address_of_the_engine_is_a_setting() {
    let address = ["run", "--print-settings", "--engine-address", "db:1"];
    let settings = program(&address).await;
    assert!(settings.contains("engine-address: \"db:1\""), "{settings}");
}

#[tokio::test]
async fn the_engine_is_asked_line_by_line() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let engine = LineEngine::new(listener.local_addr().unwrap().to_string());
    tokio::spawn(async move {
        let shop =
            json!({"id": "1", "token": "t", "cluster": "ns/main", "name": "shop", "owner": "ann"});
        for answer in [
            json!({"databases": [shop]}),
            json!({"error": "full"}),
            json!({}),
        ] {
            let mut stream = BufReader::new(listener.accept().await.unwrap().0);
            stream.read_line(&mut String::new()).await.unwrap();
            stream
                .write_all(format!("{answer}\n").as_bytes())
                .await
                .unwrap();
        }
    });
    let found = engine.find("t").await.unwrap().unwrap();
    let cluster = ObjectKey::namespaced("ns", "main");
    let name = "shop".into();
    assert_eq!(found.place, Place { cluster, name });
    let refused = engine.create("u", &found.place, "ann", b"x").await;
    assert_eq!(refused.unwrap_err().to_string(), "\"full\"");
    engine.remove("1").await.unwrap();
}
