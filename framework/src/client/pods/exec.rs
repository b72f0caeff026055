use k8s_openapi::api::core::v1::Pod;

use super::{AttachParams, ExecParams, Process, exec_params::Streams, websocket};
use crate::client::{Api, Error, request::url::Query};

/// The protocol of KEP-4006, which can end the input, and the one before it.
const PROTOCOLS: &[&str] = &["v5.channel.k8s.io", "v4.channel.k8s.io"];

impl Api<Pod> {
    /// Starts a process in a container of the Pod named `name`.
    ///
    /// ```no_run
    /// # use pilothouse::client::{Api, Error, ExecParams};
    /// # use pilothouse::k8s::api::core::v1::Pod;
    /// use tokio::io::AsyncWriteExt;
    ///
    /// # async fn example(pods: Api<Pod>) -> Result<(), Box<dyn std::error::Error>> {
    /// let version = pods.exec("web-0", &ExecParams::new(["nginx", "-v"])).await?.output().await?;
    /// println!("{}: {}", version.exit, String::from_utf8_lossy(&version.stderr));
    ///
    /// let shell = ExecParams::new(["sh", "-c", "cat > /tmp/greeting"]).stdin();
    /// let mut process = pods.exec("web-0", &shell).await?;
    /// if let Some(mut stdin) = process.stdin.take() {
    ///     stdin.write_all(b"hello\n").await?;
    ///     stdin.shutdown().await?;
    /// }
    /// assert!(process.wait().await?.is_success());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_not_found`] if the Pod does not exist. [`Error::is_forbidden`] without `create` on `pods/exec`.
    /// [`Error::is_bad_request`] if the container does not exist. If the program does not exist, [`Process::wait`]
    /// returns the error.
    pub async fn exec(&self, name: &str, params: &ExecParams) -> Result<Process, Error> {
        let call = self.call("exec", Some(name), None);
        if params.command.is_empty() {
            return Err(call.invalid("no command is given"));
        }
        let write = |query: &mut Query| params.write(query);
        self.process("exec", name, params.streams(), write).await
    }

    /// Attaches to the main process of a container of the Pod named `name`.
    ///
    /// ```no_run
    /// # use pilothouse::client::{Api, AttachParams};
    /// # use pilothouse::k8s::api::core::v1::Pod;
    /// use tokio::io::AsyncBufReadExt;
    ///
    /// # async fn example(pods: Api<Pod>) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut process = pods.attach("web-0", &AttachParams::default().tty()).await?;
    /// process.resize(80, 24).await?;
    /// if let Some(stdout) = process.stdout.take() {
    ///     let mut lines = stdout.lines();
    ///     while let Some(line) = lines.next_line().await? {
    ///         println!("{line}");
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As for [`exec`](Self::exec).
    pub async fn attach(&self, name: &str, params: &AttachParams) -> Result<Process, Error> {
        let write = |query: &mut Query| params.write(query);
        self.process("attach", name, params.streams(), write).await
    }

    async fn process(
        &self,
        verb: &'static str,
        name: &str,
        streams: Streams,
        write: impl FnOnce(&mut Query),
    ) -> Result<Process, Error> {
        let call = self.call(verb, Some(name), None);
        if streams.is_none() {
            return Err(call.invalid("none of stdin, stdout and stderr is asked for"));
        }
        let mut query = Query::new(self.call(verb, Some(name), Some(verb)).path()?);
        write(&mut query);
        let opened = websocket::open(self.client(), &call, query.finish(), PROTOCOLS).await;
        let (socket, protocol) = opened?;
        let can_end_input = protocol == "v5.channel.k8s.io";
        Ok(Process::new(&call, socket, streams, can_end_input))
    }
}
