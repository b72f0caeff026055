/// A doubly linked list whose members are indices ("places") of a slab. The links lie beside the list, one for each
/// place. Every operation takes constant time.
///
/// A place is in at most one of the lists that share their links.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlabList {
    first: u32,
    last: u32,
}

/// The neighbours of a member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    before: u32,
    after: u32,
}

/// The mark for "no place".
const NONE: u32 = u32::MAX;

impl SlabList {
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

    /// Removes a member.
    pub(super) fn remove(&mut self, links: &mut [Link], place: u32) {
        let Link { before, after } = links[place as usize];
        *self.following(links, before) = after;
        *self.preceding(links, after) = before;
    }

    /// Moves the member from place `from` to place `to`.
    pub(super) fn renumber(&mut self, links: &mut [Link], from: u32, to: u32) {
        let link = links[from as usize];
        self.join(links, to, link);
    }

    fn join(&mut self, links: &mut [Link], place: u32, link: Link) {
        links[place as usize] = link;
        *self.following(links, link.before) = place;
        *self.preceding(links, link.after) = place;
    }

    /// What comes after `place`, or the first member if `place` is [`NONE`].
    fn following<'a>(&'a mut self, links: &'a mut [Link], place: u32) -> &'a mut u32 {
        match place {
            NONE => &mut self.first,
            place => &mut links[place as usize].after,
        }
    }

    /// What comes before `place`, or the last member if `place` is [`NONE`].
    fn preceding<'a>(&'a mut self, links: &'a mut [Link], place: u32) -> &'a mut u32 {
        match place {
            NONE => &mut self.last,
            place => &mut links[place as usize].before,
        }
    }
}

impl Link {
    /// The link of a place that is in no list.
    pub(super) const NONE: Self = Self {
        before: NONE,
        after: NONE,
    };
}
