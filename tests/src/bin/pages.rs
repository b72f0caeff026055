//! An operator with flags, subcommands, routes, metrics and health checks of its own. The book shows parts of it.

// ANCHOR: flags
use pilothouse::{operator::clap, prelude::*};

#[derive(clap::Args)]
struct Flags {
    /// Image of the web server.
    #[arg(long, default_value = "nginx")]
    image: String,
    /// Token of the registry.
    #[arg(long)]
    registry_token: Option<String>,
}
// ANCHOR_END: flags

use pilothouse::{
    client::{Api, ListParams},
    k8s::api::core::v1::{EnvVar, EnvVarSource, SecretKeySelector},
    manifests::Manifests,
    metrics::prometheus::IntCounter,
    operator::{CommandSetup, Route, Setup},
    server::{Reply, http::StatusCode},
};

/// A page of a web site.
#[derive(Resource, Clone, Debug)]
#[resource(group = "book.pilothouse.dev", version = "v1", namespaced)]
struct Page {
    metadata: ObjectMeta,
    spec: PageSpec,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct PageSpec {
    /// The text.
    html: String,
}

struct Pages {
    image: String,
    published: IntCounter,
}

// ANCHOR: new
impl Pages {
    fn new(setup: &Setup) -> Result<Self> {
        let flags: Flags = setup.flags()?;
        let signed_in = flags.registry_token.is_some();
        setup.ready_check("registry", move || match signed_in {
            true => Ok(()),
            false => Err("there is no token: set --registry-token".into()),
        })?;
        let published = IntCounter::new("pages_published_total", "Pages that were published.")?;
        Ok(Self {
            image: flags.image,
            published: setup.metrics().register(published)?,
        })
    }
}
// ANCHOR_END: new

impl Reconciler for Pages {
    type Resource = Page;

    async fn reconcile(&self, page: Arc<Page>, _: &Context<Page>) -> Result<Action> {
        println!("{} serves {}", self.image, page.name());
        self.published.inc();
        Ok(Action::wait())
    }
}

// ANCHOR: route
/// The names of all pages, one a line.
async fn names(setup: Setup) -> Result<Reply> {
    let pages = Api::<Page>::all(setup.client());
    let pages = pages.list(&ListParams::default()).await?;
    let names: String = pages
        .items
        .iter()
        .map(|page| format!("{}\n", page.name()))
        .collect();
    let mut reply = Reply::new(names.into());
    if pages.items.is_empty() {
        *reply.status_mut() = StatusCode::NOT_FOUND;
    }
    Ok(reply)
}
// ANCHOR_END: route

// ANCHOR: subcommands
#[derive(clap::Subcommand)]
enum Command {
    /// Print the names of all pages.
    Names {
        /// Print only the pages of this namespace.
        #[arg(long)]
        namespace: Option<String>,
    },
    /// Print the text of a page without HTML.
    Text { html: String },
}

async fn command(command: Command, setup: CommandSetup) -> Result<()> {
    match command {
        Command::Names { namespace } => {
            let (client, params) = (setup.client().await?, ListParams::default());
            let pages = match &namespace {
                Some(namespace) => {
                    Api::<Page>::namespaced(&client, namespace)
                        .list(&params)
                        .await?
                }
                None => Api::<Page>::all(&client).list(&params).await?,
            };
            for page in pages.items {
                println!("{}", page.name());
            }
        }
        Command::Text { html } => {
            let parts = html
                .split('<')
                .map(|part| part.split_once('>').map_or(part, |(_, text)| text));
            println!("{}", parts.collect::<String>());
        }
    }
    Ok(())
}
// ANCHOR_END: subcommands

// ANCHOR: manifests
/// Changes what `manifests` prints: the pods get the token of the registry from a Secret.
fn with_token(manifests: &mut Manifests) {
    let token = EnvVar {
        name: "PAGES_REGISTRY_TOKEN".into(),
        value_from: Some(EnvVarSource {
            secret_key_ref: Some(SecretKeySelector {
                name: "registry".into(),
                key: "token".into(),
                optional: Some(true),
            }),
            ..Default::default()
        }),
        ..Default::default()
    };
    manifests
        .container()
        .env
        .get_or_insert_default()
        .push(token);
}
// ANCHOR_END: manifests

// ANCHOR: main
fn main() -> ExitCode {
    Operator::new("pages")
        .version(env!("CARGO_PKG_VERSION"))
        .controller_with(async |setup| Pages::new(&setup))
        .wiring::<Page>(|controller| controller)
        .manifests(with_token)
        .route("/names", Route::new(|setup, _request| names(setup)))
        .subcommands(command)
        .main_with::<Flags>()
}
// ANCHOR_END: main
