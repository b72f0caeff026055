use std::{
    collections::{BTreeMap, HashMap},
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::{
    Limits,
    activity::{Activity, OpenResponse},
};

/// The open connections of a server, and the choice of the one to close if there are too many.
///
/// A new connection is never refused, because it may be a request for health. If all slots are in use, it
/// takes the slot of another connection: the longest idle one of the peer with the most connections. So a
/// peer that opens many connections closes its own.
///
/// A connection with an [admitted](Slot::admit) response is not closed. The number of these responses is
/// bounded.
#[derive(Debug)]
pub(super) struct Slots {
    limits: Limits,
    free: Arc<Semaphore>,
    open: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    connections: BTreeMap<u64, Connection>,
}

#[derive(Clone, Debug)]
struct Connection {
    peer: Peer,
    activity: Arc<Activity>,
    evicted: CancellationToken,
}

/// A peer: one IPv4 address, or one IPv6 network of 64 bits, because one machine owns all addresses of such a
/// network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Peer(IpAddr);

/// The slot of one connection. Dropping it frees the slot.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Arc<Slots>,
    number: u64,
    connection: Connection,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Slots {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            free: Arc::new(Semaphore::new(limits.connections)),
            open: Mutex::default(),
        })
    }

    /// Takes a slot for a new connection. If none is free, it tells another connection to end and waits for that.
    pub(super) async fn take(self: &Arc<Self>, address: IpAddr) -> Slot {
        let connection = Connection {
            peer: Peer::of(address),
            activity: Arc::new(Activity::new(self.limits)),
            evicted: CancellationToken::new(),
        };
        let number = {
            let mut open = self.open.lock();
            if let Some((victim, evicted)) = open.victim(connection.peer, &self.limits) {
                open.connections.remove(&victim);
                evicted.cancel();
            }
            let number = open.next;
            open.next += 1;
            open.connections.insert(number, connection.clone());
            number
        };
        let mut slot = Slot {
            slots: self.clone(),
            number,
            connection,
            _permit: None,
        };
        // The semaphore is never closed.
        slot._permit = self.free.clone().acquire_owned().await.ok();
        slot
    }
}

impl Table {
    /// The connection to close before `peer` gets another one. `None` if no connection must be closed.
    fn victim(&self, peer: Peer, limits: &Limits) -> Option<(u64, CancellationToken)> {
        let own = |connection: &&Connection| connection.peer == peer;
        let peer_is_full =
            self.connections.values().filter(own).count() >= limits.connections_of_peer;
        if !peer_is_full && self.connections.len() < limits.connections {
            return None;
        }
        let mut candidates = Vec::new();
        let mut of_peer: HashMap<Peer, usize> = HashMap::new();
        for (number, connection) in &self.connections {
            let is_asked = !peer_is_full || connection.peer == peer;
            if is_asked && let Some(since) = connection.activity.evictable_since() {
                *of_peer.entry(connection.peer).or_default() += 1;
                candidates.push((number, connection, since));
            }
        }
        let most = of_peer.values().copied().max()?;
        let of_largest = candidates
            .into_iter()
            .filter(|(_, connection, _)| of_peer.get(&connection.peer) == Some(&most));
        let (number, connection, _) = of_largest.min_by_key(|(_, _, since)| *since)?;
        Some((*number, connection.evicted.clone()))
    }

    /// Whether the limits allow another response for `peer`.
    fn has_room(&self, peer: Peer, limits: &Limits) -> bool {
        let (mut all, mut own) = (0, 0);
        for connection in self.connections.values() {
            let admitted = connection.activity.admitted();
            all += admitted;
            if connection.peer == peer {
                own += admitted;
            }
        }
        all < limits.responses && own < limits.responses_of_peer
    }
}

impl Slot {
    /// The activity of the connection.
    pub(super) fn activity(&self) -> &Arc<Activity> {
        &self.connection.activity
    }

    /// The time limit for the next head over HTTP/1.1.
    pub(super) fn next_head(&self) -> Duration {
        self.slots.limits.next_head
    }

    /// Waits until the connection must be closed for another one.
    pub(super) async fn evicted(&self) {
        self.connection.evicted.cancelled().await;
    }

    /// Admits a response: the connection stays open for it. Returns `false` if too many responses run.
    pub(super) fn admit(&self, answer: &OpenResponse) -> bool {
        let open = self.slots.open.lock();
        let admitted = open.has_room(self.connection.peer, &self.slots.limits);
        if admitted {
            answer.admit();
        }
        admitted
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.open.lock().connections.remove(&self.number);
    }
}

impl Peer {
    fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = u128::from(address) & !u128::from(u64::MAX);
                Ipv6Addr::from(network).into()
            }
            address => address,
        })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::time::advance;

    use super::*;

    const LIMITS: Limits = Limits::ENDPOINTS;

    /// The address of machine `number`.
    fn machine(number: usize) -> IpAddr {
        let [.., high, low] = number.to_be_bytes();
        [10, 0, high, low].into()
    }

    fn is_evicted(slot: &Slot) -> bool {
        slot.connection.evicted.is_cancelled()
    }

    /// Takes a slot for each address, one second apart. Evicted slots are dropped.
    async fn taken(slots: &Arc<Slots>, addresses: impl IntoIterator<Item = IpAddr>) -> Vec<Slot> {
        let mut taken: Vec<Slot> = Vec::new();
        for address in addresses {
            let mut next = Box::pin(slots.take(address));
            let slot = match next.as_mut().now_or_never() {
                Some(slot) => slot,
                None => {
                    taken.retain(|slot| !is_evicted(slot));
                    next.now_or_never().expect("an evicted slot is free")
                }
            };
            taken.push(slot);
            advance(Duration::from_secs(1)).await;
        }
        taken.retain(|slot| !is_evicted(slot));
        taken
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_idle_connection_is_closed_for_a_new_one() {
        let slots = Slots::new(LIMITS);
        let held = taken(&slots, (0..LIMITS.connections).map(machine)).await;
        // The first connection is not idle any more.
        drop(held[0].activity().begin());
        let next = slots.take(machine(1000));
        assert!(next.now_or_never().is_none(), "one too many has a slot");
        let evicted: Vec<_> = (0..held.len()).filter(|n| is_evicted(&held[*n])).collect();
        assert_eq!(evicted, [1]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_with_too_many_connections_closes_its_own() {
        let slots = Slots::new(LIMITS);
        let other = taken(&slots, [machine(1)]).await;
        let held = taken(&slots, vec![machine(2); 3 * LIMITS.connections_of_peer]).await;
        assert_eq!(held.len(), LIMITS.connections_of_peer);
        assert!(!is_evicted(&other[0]));
    }

    #[tokio::test(start_paused = true)]
    async fn connections_of_the_peer_with_the_most_are_closed_first() {
        let slots = Slots::new(LIMITS);
        let probe = taken(&slots, [machine(0)]).await;
        let attackers = (1..=8).flat_map(|number| vec![machine(number); 60]);
        let held = taken(&slots, attackers).await;
        assert_eq!(held.len(), LIMITS.connections - 1);
        assert!(
            !is_evicted(&probe[0]),
            "the only one of its peer was closed"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_with_an_unreceived_response_can_be_closed_too() {
        let slots = Slots::new(LIMITS);
        let held = taken(&slots, (0..LIMITS.connections).map(machine)).await;
        let mut answers: Vec<_> = held.iter().map(|slot| slot.activity().begin()).collect();
        advance(Duration::from_secs(1)).await;
        // The last connection is the only idle one now.
        answers.pop();
        let _ = slots.take(machine(1000)).now_or_never();
        let evicted: Vec<_> = (0..held.len()).filter(|n| is_evicted(&held[*n])).collect();
        assert_eq!(evicted, [0]);
    }

    #[tokio::test(start_paused = true)]
    async fn admitted_responses_are_bounded_and_keep_their_connection_open() {
        let slots = Slots::new(LIMITS);
        let held = taken(&slots, (0..LIMITS.connections).map(|n| machine(n / 32))).await;
        let mut answers = Vec::new();
        for slot in &held {
            let answer = slot.activity().begin();
            let _ = slot.admit(&answer);
            answers.push(answer);
        }
        let admitted = |peer: usize| {
            let own = held[peer * 32..(peer + 1) * 32].iter();
            own.map(|slot| slot.activity().admitted()).sum::<usize>()
        };
        assert_eq!(admitted(0), LIMITS.responses_of_peer);
        assert_eq!((0..8).map(admitted).sum::<usize>(), LIMITS.responses);
        // Connections with an admitted response stay open, however many new ones come.
        for number in 0..500 {
            let _ = slots.take(machine(1000 + number)).now_or_never();
        }
        let kept = held.iter().filter(|slot| slot.activity().admitted() > 0);
        assert!(kept.clone().all(|slot| !is_evicted(slot)));
        assert_eq!(kept.count(), LIMITS.responses);
        answers.clear();
        assert_eq!(held[0].activity().admitted(), 0);
    }

    #[test]
    fn a_peer_is_an_ipv4_address_or_an_ipv6_network() {
        let peer = |text: &str| Peer::of(text.parse().unwrap());
        assert_eq!(peer("::ffff:10.0.0.1"), peer("10.0.0.1"));
        assert_ne!(peer("10.0.0.1"), peer("10.0.0.2"));
        assert_eq!(peer("2001:db8::1"), peer("2001:db8::ffff:0:0:1"));
        assert_ne!(peer("2001:db8::1"), peer("2001:db8:0:1::1"));
    }
}
