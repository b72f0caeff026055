/// A list whose members are places of a slab: each knows its neighbours, by links that are kept
/// beside it, one per place. Every operation takes the same short time.
///
/// A place is in at most one of the chains that share their links.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    first: u32,
    last: u32,
}

/// The neighbours of a member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    before: u32,
    after: u32,
}

/// No place.
const NONE: u32 = u32::MAX;

impl Chain {
    pub(super) const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    pub(super) fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    pub(super) fn push_back(&mut self, links: &mut [Link], place: u32) {
        let link = Link {
            before: self.last,
            after: NONE,
        };
        self.join(links, place, link);
    }

    pub(super) fn push_front(&mut self, links: &mut [Link], place: u32) {
        let link = Link {
            before: NONE,
            after: self.first,
        };
        self.join(links, place, link);
    }

    pub(super) fn pop_front(&mut self, links: &mut [Link]) -> Option<u32> {
        let first = self.first()?;
        self.remove(links, first);
        Some(first)
    }

    /// Takes out a member.
    pub(super) fn remove(&mut self, links: &mut [Link], place: u32) {
        let Link { before, after } = links[place as usize];
        *self.following(links, before) = after;
        *self.preceding(links, after) = before;
    }

    /// The member `from` bears the number `to` from now on.
    pub(super) fn renumber(&mut self, links: &mut [Link], from: u32, to: u32) {
        let link = links[from as usize];
        self.join(links, to, link);
    }

    fn join(&mut self, links: &mut [Link], place: u32, link: Link) {
        links[place as usize] = link;
        *self.following(links, link.before) = place;
        *self.preceding(links, link.after) = place;
    }

    /// What comes after `place`; after none, the first.
    fn following<'a>(&'a mut self, links: &'a mut [Link], place: u32) -> &'a mut u32 {
        match place {
            NONE => &mut self.first,
            place => &mut links[place as usize].after,
        }
    }

    /// What comes before `place`; before none, the last.
    fn preceding<'a>(&'a mut self, links: &'a mut [Link], place: u32) -> &'a mut u32 {
        match place {
            NONE => &mut self.last,
            place => &mut links[place as usize].before,
        }
    }
}

impl Link {
    /// That of a place in no chain.
    pub(super) const NONE: Self = Self {
        before: NONE,
        after: NONE,
    };
}
