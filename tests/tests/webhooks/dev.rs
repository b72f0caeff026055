use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use pilothouse::{
    client::{Api, Client, Config, KubeconfigOptions, PostParams},
    k8s::api::core::v1::{ConfigMap, Namespace},
    prelude::*,
};

use super::replica::Replica;

const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test]
async fn dev_installs_the_configurations_and_its_api_server_calls_the_webhooks() {
    let home = tempfile::tempdir().unwrap();
    let arguments = ["dev", "--metrics-address", "127.0.0.1:0"];
    let mut dev = Replica::start(env!("CARGO_BIN_EXE_teams"), &arguments, home.path());
    dev.line("Ctrl-C stops it").await;
    let line = dev.line("kubeconfig  ").await;
    let options = KubeconfigOptions {
        path: line.split_whitespace().nth(1).map(PathBuf::from),
        ..KubeconfigOptions::default()
    };
    let config = Config::from_kubeconfig(&options).await.unwrap();
    let client = Client::new(config).unwrap();
    let params = PostParams::default();
    let namespaces = Api::<Namespace>::all(&client);
    let blue = Namespace::named("blue");
    namespaces.create(&params, &blue).await.unwrap();

    let pods = Labels::from_iter([("app", "web")]);
    let mut web = Deployment::named("web");
    web.spec.selector = pods.selector();
    web.spec.paused = Some(true);
    web.spec.template = PodTemplateSpec {
        metadata: Some(pods.metadata()),
        spec: Some(PodSpec {
            containers: vec![Container {
                name: "web".into(),
                image: Some("nginx".into()),
                ..Container::default()
            }],
            ..PodSpec::default()
        }),
    };
    let deployments = Api::<Deployment>::namespaced(&client, "blue");
    // The mutation is not called for a Deployment that is paused.
    let mut paused = deployments.create(&params, &web).await.unwrap();
    assert_eq!(paused.label("team"), None);
    // The controllers of the cluster write its status meanwhile.
    paused.metadata.resource_version = None;
    let containers = &mut paused.spec.template.spec.as_mut().unwrap().containers;
    containers[0].image = Some("httpd".into());
    let denied = deployments.replace("web", &params, &paused).await;
    let denied = denied.unwrap_err().to_string();
    assert!(
        denied.contains("spec.template: must not change while spec.paused is true"),
        "{denied}"
    );
    paused.spec.paused = None;
    paused.spec.template = web.spec.template;
    let changed = deployments.replace("web", &params, &paused).await.unwrap();
    assert_eq!(changed.label("team"), Some("blue"));

    // A mutation reads a cache, which sees a new object a little later.
    let mut settings = ConfigMap::named("team");
    let maps = Api::<ConfigMap>::namespaced(&client, "blue");
    // An admission rule is installed, too.
    let nameless = maps.create(&params, &settings).await.unwrap_err();
    let text = "denied request: data.name must be the name of the team";
    assert!(nameless.to_string().contains(text), "{nameless}");
    settings.data = Some([("name".into(), "ocean".into())].into());
    maps.create(&params, &settings).await.unwrap();
    let (dry_run, end) = (PostParams::default().dry_run(), Instant::now() + PATIENCE);
    let mut other = Deployment::named("other");
    other.spec = changed.spec;
    while deployments
        .create(&dry_run, &other)
        .await
        .unwrap()
        .label("team")
        != Some("ocean")
    {
        assert!(Instant::now() < end);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    // No Service leads to this process, so it does not go on answering.
    let begun = Instant::now();
    dev.signal("INT");
    assert!(dev.end().await.success());
    assert!(
        begun.elapsed() < Duration::from_secs(4),
        "{:?}",
        begun.elapsed()
    );
}
