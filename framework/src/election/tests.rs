//! Candidates and the API server's sandbox on the paused clock, with weather between them.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::{
    coordination::v1::{Lease, LeaseSpec},
    core::v1::ConfigMap,
};
use pilothouse_sandbox::Sandbox;
use tokio::time::{Instant, sleep, timeout};

use super::{Election, ElectionSettings, Leading, Phase};
use crate::{
    client::{
        Api, Body, BoxError, Client, Config, DeleteParams, Error, PostParams, RequestService,
    },
    metrics::Metrics,
};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// What becomes of the requests of one candidate.
#[derive(Clone, Copy, Debug, Default)]
enum Weather {
    #[default]
    Fine,
    /// The server cannot be reached.
    Outage,
    /// Requests take so long on their way there.
    Slow(Duration),
    /// They are carried out, and their answers are lost.
    Deaf,
}

#[derive(Clone, Default)]
struct Sky(Arc<Mutex<Weather>>);

impl Sky {
    fn becomes(&self, weather: Weather) {
        *self.0.lock().unwrap() = weather;
    }

    fn over(
        &self,
        inner: RequestService,
    ) -> impl tower::Service<
        http::Request<Body>,
        Response = http::Response<Body>,
        Error = BoxError,
        Future = futures_util::future::BoxFuture<'static, Result<http::Response<Body>, BoxError>>,
    > + Clone
    + Send
    + Sync
    + use<> {
        let sky = self.clone();
        tower::service_fn(move |request| {
            let weather = *sky.0.lock().unwrap();
            let inner = inner.clone();
            Box::pin(async move {
                match weather {
                    Weather::Fine => {}
                    Weather::Outage => return Err("the server is away".into()),
                    Weather::Slow(time) => sleep(time).await,
                    Weather::Deaf => {
                        let _ = tower::ServiceExt::oneshot(inner, request).await;
                        std::future::pending::<()>().await;
                        return Err("never".into());
                    }
                }
                tower::ServiceExt::oneshot(inner, request).await
            }) as futures_util::future::BoxFuture<'static, _>
        })
    }
}

/// One process of an operator.
struct Process {
    client: Client,
    sky: Sky,
    metrics: Metrics,
    identity: &'static str,
    overdue: Arc<AtomicUsize>,
}

impl Process {
    fn of(sandbox: &Sandbox, identity: &'static str) -> Self {
        let (pipes, sky) = (sandbox.clone(), Sky::default());
        let over = sky.clone();
        let config = Config::new(http::Uri::from_static("http://sandbox"));
        let client = Client::builder(config)
            .connector(Arc::new(move || Ok(pipes.connect())))
            .layer(tower::layer::layer_fn(move |inner| over.over(inner)))
            .build()
            .unwrap();
        Self {
            client,
            sky,
            metrics: Metrics::new(),
            identity,
            overdue: Arc::default(),
        }
    }

    fn candidate(&self) -> Election {
        let settings = ElectionSettings::new("website").identity(self.identity);
        let overdue = self.overdue.clone();
        let election = Election::on_the_tests_clock(&self.client, settings, &self.metrics).unwrap();
        election.on_overdue(move || {
            overdue.fetch_add(1, Ordering::SeqCst);
        })
    }

    async fn lead(&self) -> Leading {
        self.candidate().lead().await
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(&self.client, "default")
    }

    async fn lease(&self) -> LeaseSpec {
        self.leases().get("website").await.unwrap().spec.unwrap()
    }

    async fn holder(&self) -> String {
        self.lease().await.holder_identity.unwrap_or_default()
    }

    fn metric(&self, line: &str) -> bool {
        self.metrics.encode().contains(&format!("{line}\n"))
    }
}

fn sandbox() -> Sandbox {
    Sandbox::builder().seed(1).build().unwrap()
}

fn named(name: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.into());
    object
}

#[tokio::test(start_paused = true)]
async fn one_leads_and_the_other_takes_over_when_it_is_gone() {
    let sandbox = sandbox();
    let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
    let leading = a.lead().await;
    assert_eq!(a.holder().await, "a");
    assert!(a.metric("leader_election_master_status{name=\"website\"} 1"));

    let standby = b.candidate();
    let status = standby.status();
    let mut standby = tokio::spawn(standby.lead());
    assert!(timeout(seconds(600), &mut standby).await.is_err());
    assert!(leading.holds());
    assert_eq!(
        (status.phase(), status.leader().as_deref()),
        (Phase::StandingBy, Some("a"))
    );

    // The process dies: nothing is given back.
    drop(leading);
    let died = Instant::now();
    let second = standby.await.unwrap();
    let waited = died.elapsed();
    // From the last renewal, which was up to 2 s before; one more look of up to 4.4 s.
    assert!(waited > seconds(12) && waited < seconds(20), "{waited:?}");
    assert_eq!(
        (b.holder().await.as_str(), b.lease().await.lease_transitions),
        ("b", Some(1))
    );
    assert_eq!(status.phase(), Phase::Leading);
    assert!(second.holds());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_stops_hands_over_at_once_and_nothing_of_it_comes_after() {
    let sandbox = sandbox();
    let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
    let leading = a.lead().await;
    let fenced = leading.fence(&a.client);
    let standby = tokio::spawn(b.candidate().lead());
    sleep(seconds(60)).await;
    let released = Instant::now();
    leading.release().await.unwrap();
    assert_eq!(a.holder().await, "");
    let config_maps: Api<ConfigMap> = Api::namespaced(&fenced, "default");
    let late = config_maps
        .create(&PostParams::default(), &named("late"))
        .await;
    assert!(matches!(late, Err(Error::Fenced { .. })), "{late:?}");
    assert!(a.metric("leader_election_master_status{name=\"website\"} 0"));
    let _second = standby.await.unwrap();
    assert!(released.elapsed() < seconds(5), "{:?}", released.elapsed());
    assert_eq!(b.lease().await.lease_transitions, Some(1));
}

#[tokio::test(start_paused = true)]
async fn an_outage_ends_leadership_ten_seconds_after_the_last_renewal_was_sent() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    let fenced: Api<ConfigMap> = Api::namespaced(&leading.fence(&a.client), "default");
    sleep(seconds(61)).await;
    a.sky.becomes(Weather::Outage);
    let away = Instant::now();
    leading.lost().await;
    let lasted = away.elapsed();
    // The last renewal was sent at most 2 s before.
    assert!(lasted > seconds(7) && lasted <= seconds(10), "{lasted:?}");
    assert!(!leading.holds());
    // The server is back; what was lost stays lost, and the fence closed.
    a.sky.becomes(Weather::Fine);
    let late = fenced.create(&PostParams::default(), &named("late")).await;
    let error = late.unwrap_err().to_string();
    assert_eq!(
        error,
        "create ConfigMap default/late: not sent: this process no longer leads: Lease default/website was lost"
    );
    assert!(a.metric("leader_election_fence_refusals_total{name=\"website\"} 1"));
    sleep(seconds(60)).await;
    assert!(!leading.holds());
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_won_by_an_answer_that_took_too_long_does_not_make_a_leader() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    // An attempt gets a second, which is more than the renew deadline: only the clock says that an answer is old.
    let settings = ElectionSettings::new("website").identity("a").times(
        seconds(2),
        Duration::from_millis(600),
        Duration::from_millis(200),
    );
    let candidate = Election::on_the_tests_clock(&a.client, settings, &a.metrics).unwrap();
    let candidate = candidate.on_overdue(|| {});
    a.sky.becomes(Weather::Slow(Duration::from_millis(150)));
    let lead = tokio::spawn(candidate.lead());
    let leading = lead.await.unwrap();
    sleep(seconds(10)).await;
    assert!(leading.holds());
    drop(leading);
    let settings = ElectionSettings::new("other").identity("a").times(
        seconds(2),
        Duration::from_millis(600),
        Duration::from_millis(200),
    );
    let candidate = Election::on_the_tests_clock(&a.client, settings, &a.metrics).unwrap();
    let candidate = candidate.on_overdue(|| {});
    a.sky.becomes(Weather::Slow(Duration::from_millis(800)));
    let lead = tokio::spawn(candidate.lead());
    sleep(seconds(60)).await;
    assert!(!lead.is_finished());
    lead.abort();
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_is_dropped_or_released_tells_its_token() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    let (token, permit) = (leading.token(), leading.permit());
    assert!(permit.holds() && !token.is_cancelled());
    drop(leading);
    assert!(token.is_cancelled() && !permit.holds());
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_is_borne() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    for _ in 0..20 {
        a.sky.becomes(Weather::Outage);
        sleep(seconds(6)).await;
        a.sky.becomes(Weather::Fine);
        sleep(seconds(5)).await;
    }
    assert!(leading.holds());
}

#[tokio::test(start_paused = true)]
async fn a_slow_server_is_borne_and_counts_from_the_sending() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    a.sky.becomes(Weather::Slow(seconds(4)));
    sleep(seconds(300)).await;
    assert!(leading.holds());
    // Slower than one attempt may be: none succeeds any more.
    a.sky.becomes(Weather::Slow(seconds(6)));
    let slow = Instant::now();
    leading.lost().await;
    assert!(slow.elapsed() <= seconds(10), "{:?}", slow.elapsed());
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_lost_do_not_count_as_renewals() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    a.sky.becomes(Weather::Deaf);
    let deaf = Instant::now();
    leading.lost().await;
    assert!(
        deaf.elapsed() < Duration::from_millis(10_600),
        "{:?}",
        deaf.elapsed()
    );
    // On the server the lease was renewed all the while: nobody else took it.
    assert_eq!(Process::of(&sandbox, "b").holder().await, "a");
}

#[tokio::test(start_paused = true)]
async fn work_that_outlives_leadership_is_told_two_seconds_before_others_may_begin() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    sleep(seconds(60)).await;
    a.sky.becomes(Weather::Outage);
    leading.lost().await;
    sleep(Duration::from_millis(2900)).await;
    assert_eq!(a.overdue.load(Ordering::SeqCst), 0);
    sleep(Duration::from_millis(700)).await;
    assert_eq!(a.overdue.load(Ordering::SeqCst), 1);
    drop(leading);

    // Work that ends in time is nobody's concern.
    let a = Process::of(&sandbox, "c");
    let leading = a.lead().await;
    a.sky.becomes(Weather::Outage);
    leading.lost().await;
    drop(leading);
    sleep(seconds(60)).await;
    assert_eq!(a.overdue.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stolen_lease_ends_leadership_at_the_next_renewal() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    sleep(seconds(30)).await;
    let mut stolen = a.leases().get("website").await.unwrap();
    stolen.spec.as_mut().unwrap().holder_identity = Some("thief".into());
    let params = PostParams::default();
    a.leases()
        .replace("website", &params, &stolen)
        .await
        .unwrap();
    let seen = Instant::now();
    leading.lost().await;
    assert!(seen.elapsed() <= seconds(2), "{:?}", seen.elapsed());
    assert!(a.metric("leader_election_slowpath_total{name=\"website\"} 1"));
    // It is not ours to give back.
    leading.release().await.unwrap();
    assert_eq!(a.holder().await, "thief");
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_somebody_touched_or_deleted_is_renewed_all_the_same() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    sleep(seconds(30)).await;
    let mut touched = a.leases().get("website").await.unwrap();
    touched.metadata.annotations = Some([("note".to_owned(), "1".to_owned())].into());
    let params = PostParams::default();
    a.leases()
        .replace("website", &params, &touched)
        .await
        .unwrap();
    sleep(seconds(30)).await;
    assert!(leading.holds());
    a.leases()
        .delete("website", &DeleteParams::default())
        .await
        .unwrap();
    sleep(seconds(30)).await;
    assert!(leading.holds());
    assert_eq!(a.holder().await, "a");
}

#[tokio::test(start_paused = true)]
async fn two_processes_never_both_lead_when_the_lease_is_deleted() {
    for round in 0..50_u64 {
        let sandbox = sandbox();
        let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
        let first = a.lead().await;
        let standby = tokio::spawn(b.candidate().lead());
        // Each round deletes at another moment between two looks at the Lease.
        sleep(Duration::from_millis(10_000 + 137 * round)).await;
        let weather = [
            Weather::Fine,
            Weather::Outage,
            Weather::Slow(seconds(1)),
            Weather::Deaf,
        ];
        let weather = weather[round as usize % 4];
        a.sky.becomes(weather);
        sleep(Duration::from_millis(53 * (round % 7))).await;
        let params = DeleteParams::default();
        b.leases().delete("website", &params).await.unwrap();
        let deleted = Instant::now();
        while !standby.is_finished() && deleted.elapsed() < seconds(30) {
            sleep(Duration::from_millis(50)).await;
            assert!(!(standby.is_finished() && first.holds()), "round {round}");
        }
        match weather {
            Weather::Fine | Weather::Slow(_) => {
                assert!(first.holds() && !standby.is_finished(), "round {round}");
                assert_eq!(b.holder().await, "a");
                standby.abort();
            }
            Weather::Outage | Weather::Deaf => {
                assert!(standby.await.unwrap().holds());
                assert!(deleted.elapsed() >= seconds(15), "{:?}", deleted.elapsed());
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_could_not_see_the_lease_for_long_waits_all_the_same_when_it_is_gone() {
    let sandbox = sandbox();
    let (a, b) = (Process::of(&sandbox, "a"), Process::of(&sandbox, "b"));
    let first = a.lead().await;
    let standby = tokio::spawn(b.candidate().lead());
    sleep(seconds(10)).await;
    b.sky.becomes(Weather::Outage);
    sleep(seconds(60)).await;
    // The leader renewed until just now, and cannot any more.
    a.sky.becomes(Weather::Outage);
    sandbox_leases(&sandbox)
        .delete("website", &DeleteParams::default())
        .await
        .unwrap();
    b.sky.becomes(Weather::Fine);
    while first.holds() {
        assert!(!standby.is_finished());
        sleep(Duration::from_millis(10)).await;
    }
    assert!(standby.await.unwrap().holds());
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_has_seen_no_holder_creates_the_lease_at_once() {
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let begun = Instant::now();
    let leading = a.lead().await;
    leading.release().await.unwrap();
    let standby = Process::of(&sandbox, "b");
    let leading = standby.lead().await;
    leading.release().await.unwrap();
    sandbox_leases(&sandbox)
        .delete("website", &DeleteParams::default())
        .await
        .unwrap();
    let _leading = Process::of(&sandbox, "c").lead().await;
    assert!(begun.elapsed() < seconds(1), "{:?}", begun.elapsed());
}

fn sandbox_leases(sandbox: &Sandbox) -> Api<Lease> {
    Process::of(sandbox, "somebody").leases()
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_somebody_touches_while_it_is_given_back_is_given_back() {
    use pilothouse_sandbox::{Answer, RequestMatcher};
    let sandbox = sandbox();
    let a = Process::of(&sandbox, "a");
    let leading = a.lead().await;
    let conflict = Answer::status(409, "Conflict");
    let matcher = RequestMatcher::any().verb("update").resource("leases");
    sandbox.faults().answer(matcher, conflict, 2);
    leading.release().await.unwrap();
    assert_eq!(a.holder().await, "");
}

#[tokio::test(start_paused = true)]
async fn two_are_never_leaders_at_once_whatever_the_weather() {
    let sandbox = sandbox();
    let processes = [Process::of(&sandbox, "a"), Process::of(&sandbox, "b")];
    let leaders = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    let mut skies = Vec::new();
    let changes = Arc::new(AtomicUsize::new(0));
    for process in processes {
        skies.push(process.sky.clone());
        let (leaders, changes) = (leaders.clone(), changes.clone());
        tasks.push(tokio::spawn(async move {
            loop {
                let leading = process.lead().await;
                assert_eq!(leaders.fetch_add(1, Ordering::SeqCst), 0, "two lead");
                changes.fetch_add(1, Ordering::SeqCst);
                leading.lost().await;
                assert_eq!(leaders.fetch_sub(1, Ordering::SeqCst), 1);
                drop(leading);
            }
        }));
    }
    // The weather of two processes, in steps that meet each other differently each time.
    let kinds = [
        Weather::Fine,
        Weather::Outage,
        Weather::Slow(seconds(3)),
        Weather::Deaf,
        Weather::Fine,
        Weather::Slow(seconds(7)),
    ];
    for step in 0..600_usize {
        skies[0].becomes(kinds[step % 6]);
        skies[1].becomes(kinds[(step / 2 + 2) % 6]);
        sleep(Duration::from_millis(2300 + (step as u64 * 997) % 9000)).await;
        assert!(tasks.iter().all(|task| !task.is_finished()));
    }
    assert!(changes.load(Ordering::SeqCst) > 20, "{changes:?}");
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test(start_paused = true)]
async fn who_may_not_take_part_is_told_how_that_is_mended_and_tries_again() {
    use pilothouse_sandbox::{Answer, RequestMatcher};
    let sandbox = sandbox();
    let matcher = RequestMatcher::any().resource("leases");
    sandbox
        .faults()
        .answer(matcher, Answer::status(403, "Forbidden"), 3);
    let a = Process::of(&sandbox, "a");
    let candidate = a.candidate();
    let status = candidate.status();
    let lead = tokio::spawn(candidate.lead());
    sleep(Duration::from_millis(100)).await;
    assert!(
        status.trouble().unwrap().contains("injected fault"),
        "{status:?}"
    );
    let _leading = lead.await.unwrap();
    assert_eq!(status.trouble(), None);
}

/// On the system's clock: the thread needs no runtime.
#[test]
fn a_runtime_that_is_blocked_does_not_hide_that_leadership_is_over() {
    let sandbox_and_lead = async {
        let sandbox = sandbox();
        let a = Process::of(&sandbox, "a");
        let (told, is_told) = std::sync::mpsc::channel();
        let settings = ElectionSettings::new("website").identity("a").times(
            seconds(2),
            Duration::from_millis(700),
            Duration::from_millis(200),
        );
        let election = Election::new(&a.client, settings, &a.metrics).unwrap();
        let leading = election
            .on_overdue(move || told.send(()).unwrap())
            .lead()
            .await;
        let token = leading.token();
        // Nothing else of this runtime runs meanwhile.
        is_told.recv_timeout(seconds(60)).unwrap();
        assert!(token.is_cancelled());
        assert!(!leading.holds());
    };
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(sandbox_and_lead);
}
