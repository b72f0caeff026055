/// How connections and deadlines treat a request. Each class has its own connections, because a server limits the
/// streams of one connection, and the streams share its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestClass {
    /// An ordinary request, which ends with its answer.
    Request,
    /// A request whose answer continues until one side ends it.
    Watch,
    /// A request after which the connection speaks another protocol. It has a connection of its own and is never
    /// repeated.
    Upgrade,
}
