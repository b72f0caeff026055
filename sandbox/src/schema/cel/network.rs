//! `ip` and `cidr` with their methods.

use std::net::IpAddr;
use std::sync::Arc;

use cel::common::types::Type;
use cel::objects::Opaque;
use cel::{Env, ExecutionError, Value};

use super::functions::{
    Args, Declared, FunctionResult, declare, fail, no_overload, text, to_result, values,
};

const IP: &str = "net.IP";
const CIDR: &str = "net.CIDR";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ip(IpAddr);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cidr {
    address: IpAddr,
    bits: u8,
}

impl Opaque for Ip {
    fn runtime_type_name(&self) -> &str {
        IP
    }
}

impl Opaque for Cidr {
    fn runtime_type_name(&self) -> &str {
        CIDR
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The address as a number, with its first bit on top.
fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(a) => u128::from(a.to_bits()) << 96,
        IpAddr::V6(a) => a.to_bits(),
    }
}

impl Cidr {
    fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let address = parse_ip(address)?;
        if bits.is_empty() || (bits.len() > 1 && bits.starts_with('0')) || bits.starts_with('+') {
            return None;
        }
        let bits: u8 = bits.parse().ok()?;
        (bits <= width(address)).then_some(Self { address, bits })
    }

    fn mask(self) -> u128 {
        match self.bits {
            0 => 0,
            bits => u128::MAX << (128 - u32::from(bits)),
        }
    }

    fn contains(self, address: IpAddr) -> bool {
        let same_family = address.is_ipv4() == self.address.is_ipv4();
        same_family && (number(address) ^ number(self.address)) & self.mask() == 0
    }

    fn masked(self) -> Self {
        let number = number(self.address) & self.mask();
        let address = match self.address {
            IpAddr::V4(_) => IpAddr::V4(((number >> 96) as u32).into()),
            IpAddr::V6(_) => IpAddr::V6(number.into()),
        };
        Self { address, ..self }
    }
}

/// Parses an address. Zones and IPv4 in IPv6 are not allowed.
fn parse_ip(text: &str) -> Option<IpAddr> {
    let address: IpAddr = text.parse().ok()?;
    match address {
        IpAddr::V6(a) if a.to_ipv4_mapped().is_some() => None,
        address => Some(address),
    }
}

/// The bytes of an address, or of the bits of a network, as costs count them. Returns `None` for other values.
pub(super) fn size(value: &Value) -> Option<u64> {
    let Value::Opaque(opaque) = value else {
        return None;
    };
    if let Some(ip) = opaque.downcast_ref::<Ip>() {
        return Some(u64::from(width(ip.0) / 8));
    }
    let cidr = opaque.downcast_ref::<Cidr>()?;
    Some(u64::from(cidr.bits.div_ceil(8)))
}

pub(super) fn register(env: &mut Env) {
    let on = |of, name, id, args, run| Declared {
        name,
        id,
        on: Some(Type::new_opaque_type(of)),
        args,
        run,
    };
    let function = |name, run| Declared {
        name,
        id: name,
        on: None,
        args: 1,
        run,
    };
    declare(
        env,
        vec![
            function("ip", ip),
            function("isIP", is_ip),
            function("ip.isCanonical", is_canonical),
            function("cidr", cidr),
            function("isCIDR", is_cidr),
            Declared {
                name: "string",
                id: "network_to_string",
                on: None,
                args: 1,
                run: to_text,
            },
            on(IP, "family", "ip_family", 0, family),
            on(IP, "isUnspecified", "ip_is_unspecified", 0, is_unspecified),
            on(IP, "isLoopback", "ip_is_loopback", 0, is_loopback),
            on(
                IP,
                "isLinkLocalMulticast",
                "ip_is_llm",
                0,
                is_link_local_multicast,
            ),
            on(
                IP,
                "isLinkLocalUnicast",
                "ip_is_llu",
                0,
                is_link_local_unicast,
            ),
            on(IP, "isGlobalUnicast", "ip_is_gu", 0, is_global_unicast),
            on(CIDR, "containsIP", "cidr_contains_ip", 1, contains_ip),
            on(CIDR, "containsCIDR", "cidr_contains_cidr", 1, contains_cidr),
            on(CIDR, "ip", "cidr_ip", 0, cidr_ip),
            on(CIDR, "masked", "cidr_masked", 0, cidr_masked),
            on(CIDR, "prefixLength", "cidr_prefix_length", 0, prefix_length),
        ],
    );
}

fn find_ip(value: Option<&Value>) -> Option<IpAddr> {
    match value? {
        Value::Opaque(opaque) => opaque.downcast_ref::<Ip>().map(|ip| ip.0),
        Value::String(text) => parse_ip(text),
        _ => None,
    }
}

fn find_cidr(value: Option<&Value>) -> Option<Cidr> {
    match value? {
        Value::Opaque(opaque) => opaque.downcast_ref::<Cidr>().copied(),
        Value::String(text) => Cidr::parse(text),
        _ => None,
    }
}

fn this_ip(function: &str, args: Args<'_, '_>) -> Result<IpAddr, ExecutionError> {
    let values = values(args)?;
    find_ip(values.first()).ok_or_else(|| no_overload(function, &values))
}

fn this_cidr(function: &str, values: &[Value]) -> Result<Cidr, ExecutionError> {
    find_cidr(values.first()).ok_or_else(|| no_overload(function, values))
}

fn ip<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    let text = text("ip", &values, 0)?;
    let ip = parse_ip(&text);
    let ip = ip.ok_or_else(|| {
        fail(
            "ip",
            format!("IP Address {text:?} parse error during conversion from string"),
        )
    })?;
    to_result("ip", Value::Opaque(Arc::new(Ip(ip))))
}

fn is_ip<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let text = text("isIP", &values(args)?, 0)?;
    to_result("isIP", parse_ip(&text).is_some())
}

fn is_canonical<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let text = text("ip.isCanonical", &values(args)?, 0)?;
    let ip = parse_ip(&text).ok_or_else(|| fail("ip.isCanonical", "not an IP address"))?;
    to_result("ip.isCanonical", ip.to_string() == text)
}

fn cidr<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let text = text("cidr", &values(args)?, 0)?;
    let cidr = Cidr::parse(&text);
    let cidr = cidr.ok_or_else(|| {
        fail(
            "cidr",
            "network address parse error during conversion from string",
        )
    })?;
    to_result("cidr", Value::Opaque(Arc::new(cidr)))
}

fn is_cidr<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let text = text("isCIDR", &values(args)?, 0)?;
    to_result("isCIDR", Cidr::parse(&text).is_some())
}

/// `string` of an address or a network.
fn to_text<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    let of = match values.first() {
        Some(Value::Opaque(of)) => of,
        _ => return Err(no_overload("string", &values)),
    };
    if let Some(ip) = of.downcast_ref::<Ip>() {
        return to_result("string", ip.0.to_string());
    }
    match of.downcast_ref::<Cidr>() {
        Some(cidr) => to_result("string", format!("{}/{}", cidr.address, cidr.bits)),
        None => Err(no_overload("string", &values)),
    }
}

fn family<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let ip = this_ip("family", args)?;
    to_result("family", if ip.is_ipv4() { 4_i64 } else { 6 })
}

fn is_unspecified<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    to_result(
        "isUnspecified",
        this_ip("isUnspecified", args)?.is_unspecified(),
    )
}

fn is_loopback<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    to_result("isLoopback", this_ip("isLoopback", args)?.is_loopback())
}

fn link_local_multicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(a) => matches!(a.octets(), [224, 0, 0, _]),
        IpAddr::V6(a) => a.segments()[0] & 0xff0f == 0xff02,
    }
}

fn link_local_unicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(a) => a.is_link_local(),
        IpAddr::V6(a) => a.is_unicast_link_local(),
    }
}

fn is_link_local_multicast<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let ip = this_ip("isLinkLocalMulticast", args)?;
    to_result("isLinkLocalMulticast", link_local_multicast(ip))
}

fn is_link_local_unicast<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let ip = this_ip("isLinkLocalUnicast", args)?;
    to_result("isLinkLocalUnicast", link_local_unicast(ip))
}

fn is_global_unicast<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let ip = this_ip("isGlobalUnicast", args)?;
    let broadcast = matches!(ip, IpAddr::V4(a) if a.is_broadcast());
    let special = broadcast
        || ip.is_unspecified()
        || ip.is_loopback()
        || ip.is_multicast()
        || link_local_unicast(ip);
    to_result("isGlobalUnicast", !special)
}

fn contains_ip<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    let cidr = this_cidr("containsIP", &values)?;
    let ip = find_ip(values.get(1)).ok_or_else(|| no_overload("containsIP", &values))?;
    to_result("containsIP", cidr.contains(ip))
}

fn contains_cidr<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let values = values(args)?;
    let cidr = this_cidr("containsCIDR", &values)?;
    let other = find_cidr(values.get(1)).ok_or_else(|| no_overload("containsCIDR", &values))?;
    let inside = cidr.contains(other.address) && cidr.bits <= other.bits;
    to_result("containsCIDR", inside)
}

fn cidr_ip<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let cidr = this_cidr("ip", &values(args)?)?;
    to_result("ip", Value::Opaque(Arc::new(Ip(cidr.address))))
}

fn cidr_masked<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let cidr = this_cidr("masked", &values(args)?)?;
    to_result("masked", Value::Opaque(Arc::new(cidr.masked())))
}

fn prefix_length<'b, 'v>(args: Args<'b, 'v>) -> FunctionResult<'b, 'v> {
    let cidr = this_cidr("prefixLength", &values(args)?)?;
    to_result("prefixLength", i64::from(cidr.bits))
}
