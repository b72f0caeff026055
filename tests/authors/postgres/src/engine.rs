//! The engine: databases outside of the Kubernetes cluster.

use std::io;

use pilothouse::resource::ObjectKey;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

/// Where a database is: in a Cluster, under a name. The engine has at most one database at each place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub cluster: ObjectKey,
    pub name: String,
}

/// A database as the engine has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineDatabase {
    /// Chosen by the engine.
    pub id: String,
    /// The tag with which the database was created, by which its creator finds it again.
    pub token: String,
    pub place: Place,
    pub owner: String,
}

/// Creates and drops databases. It chooses the ids itself.
pub trait Engine: Send + Sync + 'static {
    /// Creates a database and its owner, who gets this password.
    ///
    /// # Errors
    /// If the engine cannot be reached, or if another database is at this place.
    fn create(
        &self,
        token: &str,
        place: &Place,
        owner: &str,
        password: &[u8],
    ) -> impl Future<Output = io::Result<EngineDatabase>> + Send;

    /// The database that was created with this token.
    fn find(&self, token: &str) -> impl Future<Output = io::Result<Option<EngineDatabase>>> + Send;

    fn list(&self) -> impl Future<Output = io::Result<Vec<EngineDatabase>>> + Send;

    /// Gives the database to this owner, who gets this password.
    fn set_owner(
        &self,
        id: &str,
        owner: &str,
        password: &[u8],
    ) -> impl Future<Output = io::Result<()>> + Send;

    /// Drops the database, if it exists.
    fn remove(&self, id: &str) -> impl Future<Output = io::Result<()>> + Send;
}

/// An engine that takes one line of JSON for each request, and answers with one line.
#[derive(Debug)]
pub struct LineEngine {
    address: String,
}

impl LineEngine {
    pub fn new(address: String) -> Self {
        Self { address }
    }

    async fn ask(&self, request: Value) -> io::Result<Value> {
        let mut stream = BufReader::new(TcpStream::connect(&self.address).await?);
        stream.write_all(format!("{request}\n").as_bytes()).await?;
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let answer: Value = serde_json::from_str(&line)?;
        match answer.get("error") {
            Some(error) => Err(io::Error::other(error.to_string())),
            None => Ok(answer),
        }
    }
}

impl Engine for LineEngine {
    async fn create(
        &self,
        token: &str,
        place: &Place,
        owner: &str,
        password: &[u8],
    ) -> io::Result<EngineDatabase> {
        let (cluster, password) = (place.cluster.to_string(), String::from_utf8_lossy(password));
        let request = json!({"create": place.name, "cluster": cluster, "token": token,
            "owner": owner, "password": password});
        read(&self.ask(request).await?)
    }

    async fn find(&self, token: &str) -> io::Result<Option<EngineDatabase>> {
        let mut databases = self.list().await?.into_iter();
        Ok(databases.find(|database| database.token == token))
    }

    async fn list(&self) -> io::Result<Vec<EngineDatabase>> {
        let answer = self.ask(json!({"list": true})).await?;
        let databases = answer["databases"].as_array();
        databases.into_iter().flatten().map(read).collect()
    }

    async fn set_owner(&self, id: &str, owner: &str, password: &[u8]) -> io::Result<()> {
        let password = String::from_utf8_lossy(password);
        let request = json!({"own": id, "owner": owner, "password": password});
        self.ask(request).await.map(|_| ())
    }

    async fn remove(&self, id: &str) -> io::Result<()> {
        self.ask(json!({"drop": id})).await.map(|_| ())
    }
}

fn read(database: &Value) -> io::Result<EngineDatabase> {
    let field = |name: &str| match database[name].as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(io::Error::other(format!("the engine sent no `{name}`"))),
    };
    let cluster = field("cluster")?;
    let (namespace, cluster) = cluster.split_once('/').unwrap_or(("", &cluster));
    Ok(EngineDatabase {
        id: field("id")?,
        token: field("token")?,
        place: Place {
            cluster: ObjectKey::namespaced(namespace, cluster),
            name: field("name")?,
        },
        owner: field("owner")?,
    })
}
