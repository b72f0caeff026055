//! The operator of a platform: it equips the namespaces of teams, exposes Deployments, summarizes objects of a kind
//! that a flag names, and counts Secrets.

mod census;
mod expose;
mod summary;
mod team;

use pilothouse::{
    operator::{Route, Setup, clap},
    prelude::*,
    resource::ApiResource,
};

use census::{Census, CensusReconciler};
use expose::ExposeReconciler;
use summary::SummaryReconciler;
use team::TeamReconciler;

pub use census::CHECKED;
pub use expose::EXPOSE;
pub use summary::FINALIZER;
pub use team::{SHARED, SOURCE, TEAM};

/// The flags of the program.
#[derive(clap::Args, Clone, Debug)]
pub struct Flags {
    /// The namespaced kind to summarize: `widgets.v1.example.com/Widget`.
    #[arg(long, value_parser = summary::parse_kind)]
    pub watch_kind: ApiResource,
    /// A field of the summary as a JSON pointer: `/spec/size`. The flag can be given several times.
    #[arg(long = "summary-field", required = true, value_parser = summary::parse_pointer)]
    pub summary_fields: Vec<String>,
}

/// The operator, for `main` and for the tests. Only tests give `flags`; `main` reads the command line.
pub fn operator(flags: Option<Flags>) -> Operator {
    let census = Arc::new(Census::default());
    let reported = census.clone();
    Operator::new("platform")
        // Whole Secrets are cached only if they have this label: the source and its copies.
        .informers(|informers| informers.tweak::<Secret>(|scope| scope.labels(SHARED)))
        .controller_with(async |setup: Setup| Ok(TeamReconciler::new(setup.client())))
        .controller(ExposeReconciler)
        .dynamic_controller_with(async move |setup: Setup| {
            let flags = flags.map_or_else(|| setup.flags(), Ok)?;
            let summary = SummaryReconciler {
                fields: flags.summary_fields,
            };
            Ok((flags.watch_kind, summary))
        })
        .controller_with(async move |setup: Setup| CensusReconciler::new(census, setup.metrics()))
        .route(
            "/report",
            Route::new(move |_, _| std::future::ready(reported.reply())),
        )
}
