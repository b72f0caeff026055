//! The signatures of all operators and functions.
//!
//! One overload a line: function, identifier, parameters, result. `list(A).(A)` are the parameters of a method of lists. Capital
//! letters are types that a call chooses. The identifiers are those of cel-go and of the server, whose costs depend on them.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::schema::cel::types::{LIST, MAP, OPTIONAL, TYPE, Type};

/// One signature of a function.
pub(super) struct Overload {
    pub(super) id: &'static str,
    pub(super) is_method: bool,
    /// The receiver of a method is the first.
    pub(super) parameters: Vec<Type>,
    pub(super) result: Type,
    /// How many types a call chooses: [`Type::Variable`] with a smaller number.
    pub(super) variables: usize,
}

/// The overloads of a function or method. Returns `None` if there is no function of this name.
pub(super) fn find(name: &str) -> Option<&'static [Overload]> {
    static ALL: LazyLock<HashMap<&'static str, Vec<Overload>>> = LazyLock::new(read);
    ALL.get(name).map(Vec::as_slice)
}

/// Whether there is a function or method of this name.
pub(in crate::schema::cel) fn is_function(name: &str) -> bool {
    find(name).is_some()
}

/// The names of types that expressions may use as values.
pub(in crate::schema::cel) fn named_type(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "bytes" => Type::Bytes,
        "double" => Type::Double,
        "google.protobuf.Duration" => Type::Duration,
        "int" => Type::Int,
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "null_type" => Type::Null,
        "string" => Type::String,
        "google.protobuf.Timestamp" => Type::Timestamp,
        "type" => Type::made(TYPE, Vec::new()),
        "uint" => Type::Uint,
        "optional_type" => Type::optional(Type::Dyn),
        "net.IP" => Type::Library("net.IP"),
        "net.CIDR" => Type::Library("net.CIDR"),
        _ => return None,
    })
}

fn read() -> HashMap<&'static str, Vec<Overload>> {
    let mut all: HashMap<&'static str, Vec<Overload>> = HashMap::new();
    let lines = SIGNATURES.lines().map(str::trim).filter(|l| !l.is_empty());
    for line in lines {
        let mut words = line.split_whitespace();
        let (Some(name), Some(id), Some(parameters), Some(result)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        let (receiver, rest) = match parameters.strip_prefix('(') {
            Some(rest) => (None, rest),
            None => match parameters.rsplit_once(".(") {
                Some((receiver, rest)) => (Some(receiver), rest),
                None => continue,
            },
        };
        let mut variables = Vec::new();
        let mut reader = |text| {
            Reader {
                rest: text,
                variables: &mut variables,
            }
            .read()
        };
        let mut types: Vec<Type> = receiver.into_iter().map(&mut reader).collect();
        types.extend(split(rest).into_iter().map(&mut reader));
        let result = reader(result);
        all.entry(name).or_default().push(Overload {
            id,
            is_method: receiver.is_some(),
            parameters: types,
            result,
            variables: variables.len(),
        });
    }
    all
}

/// Splits parameters at commas that are not inside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let text = text.strip_suffix(')').unwrap_or(text);
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    if start < text.len() {
        parts.push(&text[start..]);
    }
    parts
}

struct Reader<'a> {
    rest: &'a str,
    variables: &'a mut Vec<char>,
}

impl Reader<'_> {
    fn read(self) -> Type {
        let Self { rest, variables } = self;
        let mut inner = |text: &str| -> Vec<Type> {
            let parts = split(text);
            parts
                .into_iter()
                .map(|rest| {
                    Reader {
                        rest,
                        variables: &mut *variables,
                    }
                    .read()
                })
                .collect()
        };
        if let Some((name, parameters)) = rest.split_once('(') {
            let name = match name {
                "list" => LIST,
                "map" => MAP,
                "optional" => OPTIONAL,
                _ => TYPE,
            };
            return Type::made(name, inner(parameters));
        }
        if let Some(letter) = rest.chars().next().filter(char::is_ascii_uppercase)
            && rest.len() == 1
        {
            let known = variables.iter().position(|v| *v == letter);
            return Type::Variable(known.unwrap_or_else(|| {
                variables.push(letter);
                variables.len() - 1
            }));
        }
        match rest {
            "bool" => Type::Bool,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "string" => Type::String,
            "bytes" => Type::Bytes,
            "duration" => Type::Duration,
            "timestamp" => Type::Timestamp,
            "IP" => Type::Library("net.IP"),
            "CIDR" => Type::Library("net.CIDR"),
            "Authorizer" => Type::Library("kubernetes.authorization.Authorizer"),
            "PathCheck" => Type::Library("kubernetes.authorization.PathCheck"),
            "GroupCheck" => Type::Library("kubernetes.authorization.GroupCheck"),
            "ResourceCheck" => Type::Library("kubernetes.authorization.ResourceCheck"),
            "Decision" => Type::Library("kubernetes.authorization.Decision"),
            "URL" => Type::Library("kubernetes.URL"),
            "Quantity" => Type::Library("kubernetes.Quantity"),
            "Semver" => Type::Library("kubernetes.Semver"),
            "Format" => Type::Library("kubernetes.NamedFormat"),
            _ => Type::Dyn,
        }
    }
}

const SIGNATURES: &str = "
_?_:_ conditional (bool,A,A) A
_&&_ logical_and (bool,bool) bool
_||_ logical_or (bool,bool) bool
!_ logical_not (bool) bool
@not_strictly_false not_strictly_false (bool) bool
_==_ equals (A,A) bool
_!=_ not_equals (A,A) bool
_+_ add_bytes (bytes,bytes) bytes
_+_ add_double (double,double) double
_+_ add_duration_duration (duration,duration) duration
_+_ add_duration_timestamp (duration,timestamp) timestamp
_+_ add_timestamp_duration (timestamp,duration) timestamp
_+_ add_int64 (int,int) int
_+_ add_list (list(A),list(A)) list(A)
_+_ add_string (string,string) string
_+_ add_uint64 (uint,uint) uint
_/_ divide_double (double,double) double
_/_ divide_int64 (int,int) int
_/_ divide_uint64 (uint,uint) uint
_*_ multiply_double (double,double) double
_*_ multiply_int64 (int,int) int
_*_ multiply_uint64 (uint,uint) uint
_%_ modulo_int64 (int,int) int
_%_ modulo_uint64 (uint,uint) uint
-_ negate_double (double) double
-_ negate_int64 (int) int
_-_ subtract_double (double,double) double
_-_ subtract_duration_duration (duration,duration) duration
_-_ subtract_int64 (int,int) int
_-_ subtract_timestamp_duration (timestamp,duration) timestamp
_-_ subtract_timestamp_timestamp (timestamp,timestamp) duration
_-_ subtract_uint64 (uint,uint) uint
_<_ less_bool (bool,bool) bool
_<_ less_int64 (int,int) bool
_<_ less_int64_double (int,double) bool
_<_ less_int64_uint64 (int,uint) bool
_<_ less_uint64 (uint,uint) bool
_<_ less_uint64_double (uint,double) bool
_<_ less_uint64_int64 (uint,int) bool
_<_ less_double (double,double) bool
_<_ less_double_int64 (double,int) bool
_<_ less_double_uint64 (double,uint) bool
_<_ less_string (string,string) bool
_<_ less_bytes (bytes,bytes) bool
_<_ less_timestamp (timestamp,timestamp) bool
_<_ less_duration (duration,duration) bool
_<=_ less_equals_bool (bool,bool) bool
_<=_ less_equals_int64 (int,int) bool
_<=_ less_equals_int64_double (int,double) bool
_<=_ less_equals_int64_uint64 (int,uint) bool
_<=_ less_equals_uint64 (uint,uint) bool
_<=_ less_equals_uint64_double (uint,double) bool
_<=_ less_equals_uint64_int64 (uint,int) bool
_<=_ less_equals_double (double,double) bool
_<=_ less_equals_double_int64 (double,int) bool
_<=_ less_equals_double_uint64 (double,uint) bool
_<=_ less_equals_string (string,string) bool
_<=_ less_equals_bytes (bytes,bytes) bool
_<=_ less_equals_timestamp (timestamp,timestamp) bool
_<=_ less_equals_duration (duration,duration) bool
_>_ greater_bool (bool,bool) bool
_>_ greater_int64 (int,int) bool
_>_ greater_int64_double (int,double) bool
_>_ greater_int64_uint64 (int,uint) bool
_>_ greater_uint64 (uint,uint) bool
_>_ greater_uint64_double (uint,double) bool
_>_ greater_uint64_int64 (uint,int) bool
_>_ greater_double (double,double) bool
_>_ greater_double_int64 (double,int) bool
_>_ greater_double_uint64 (double,uint) bool
_>_ greater_string (string,string) bool
_>_ greater_bytes (bytes,bytes) bool
_>_ greater_timestamp (timestamp,timestamp) bool
_>_ greater_duration (duration,duration) bool
_>=_ greater_equals_bool (bool,bool) bool
_>=_ greater_equals_int64 (int,int) bool
_>=_ greater_equals_int64_double (int,double) bool
_>=_ greater_equals_int64_uint64 (int,uint) bool
_>=_ greater_equals_uint64 (uint,uint) bool
_>=_ greater_equals_uint64_double (uint,double) bool
_>=_ greater_equals_uint64_int64 (uint,int) bool
_>=_ greater_equals_double (double,double) bool
_>=_ greater_equals_double_int64 (double,int) bool
_>=_ greater_equals_double_uint64 (double,uint) bool
_>=_ greater_equals_string (string,string) bool
_>=_ greater_equals_bytes (bytes,bytes) bool
_>=_ greater_equals_timestamp (timestamp,timestamp) bool
_>=_ greater_equals_duration (duration,duration) bool
_[_] index_list (list(A),int) A
_[_] index_map (map(A,B),A) B
_[_] optional_list_index_int (optional(list(V)),int) optional(V)
_[_] optional_map_index_value (optional(map(K,V)),K) optional(V)
_[?_] list_optindex_optional_int (list(V),int) optional(V)
_[?_] optional_list_optindex_optional_int (optional(list(V)),int) optional(V)
_[?_] map_optindex_optional_value (map(K,V),K) optional(V)
_[?_] optional_map_optindex_optional_value (optional(map(K,V)),K) optional(V)
@in in_list (A,list(A)) bool
@in in_map (A,map(A,B)) bool
size size_bytes (bytes) int
size bytes_size bytes.() int
size size_list (list(A)) int
size list_size list(A).() int
size size_map (map(A,B)) int
size map_size map(A,B).() int
size size_string (string) int
size string_size string.() int
type type (A) type(A)
bool bool_to_bool (bool) bool
bool string_to_bool (string) bool
bytes bytes_to_bytes (bytes) bytes
bytes string_to_bytes (string) bytes
double double_to_double (double) double
double int64_to_double (int) double
double string_to_double (string) double
double uint64_to_double (uint) double
duration duration_to_duration (duration) duration
duration int64_to_duration (int) duration
duration string_to_duration (string) duration
dyn to_dyn (A) dyn
int int64_to_int64 (int) int
int double_to_int64 (double) int
int duration_to_int64 (duration) int
int string_to_int64 (string) int
int timestamp_to_int64 (timestamp) int
int uint64_to_int64 (uint) int
string string_to_string (string) string
string bool_to_string (bool) string
string bytes_to_string (bytes) string
string double_to_string (double) string
string duration_to_string (duration) string
string int64_to_string (int) string
string timestamp_to_string (timestamp) string
string uint64_to_string (uint) string
string cidr_to_string (CIDR) string
string ip_to_string (IP) string
timestamp timestamp_to_timestamp (timestamp) timestamp
timestamp int64_to_timestamp (int) timestamp
timestamp string_to_timestamp (string) timestamp
uint uint64_to_uint64 (uint) uint
uint double_to_uint64 (double) uint
uint int64_to_uint64 (int) uint
uint string_to_uint64 (string) uint
contains contains_string string.(string) bool
endsWith ends_with_string string.(string) bool
startsWith starts_with_string string.(string) bool
matches matches (string,string) bool
matches matches_string string.(string) bool
getFullYear timestamp_to_year timestamp.() int
getFullYear timestamp_to_year_with_tz timestamp.(string) int
getMonth timestamp_to_month timestamp.() int
getMonth timestamp_to_month_with_tz timestamp.(string) int
getDayOfYear timestamp_to_day_of_year timestamp.() int
getDayOfYear timestamp_to_day_of_year_with_tz timestamp.(string) int
getDayOfMonth timestamp_to_day_of_month timestamp.() int
getDayOfMonth timestamp_to_day_of_month_with_tz timestamp.(string) int
getDate timestamp_to_day_of_month_1_based timestamp.() int
getDate timestamp_to_day_of_month_1_based_with_tz timestamp.(string) int
getDayOfWeek timestamp_to_day_of_week timestamp.() int
getDayOfWeek timestamp_to_day_of_week_with_tz timestamp.(string) int
getHours timestamp_to_hours timestamp.() int
getHours timestamp_to_hours_with_tz timestamp.(string) int
getHours duration_to_hours duration.() int
getMinutes timestamp_to_minutes timestamp.() int
getMinutes timestamp_to_minutes_with_tz timestamp.(string) int
getMinutes duration_to_minutes duration.() int
getSeconds timestamp_to_seconds timestamp.() int
getSeconds timestamp_to_seconds_tz timestamp.(string) int
getSeconds duration_to_seconds duration.() int
getMilliseconds timestamp_to_milliseconds timestamp.() int
getMilliseconds timestamp_to_milliseconds_with_tz timestamp.(string) int
getMilliseconds duration_to_milliseconds duration.() int
charAt string_char_at_int string.(int) string
indexOf string_index_of_string string.(string) int
indexOf string_index_of_string_int string.(string,int) int
lastIndexOf string_last_index_of_string string.(string) int
lastIndexOf string_last_index_of_string_int string.(string,int) int
lowerAscii string_lower_ascii string.() string
replace string_replace_string_string string.(string,string) string
replace string_replace_string_string_int string.(string,string,int) string
split string_split_string string.(string) list(string)
split string_split_string_int string.(string,int) list(string)
substring string_substring_int string.(int) string
substring string_substring_int_int string.(int,int) string
trim string_trim string.() string
upperAscii string_upper_ascii string.() string
format string_format string.(list(dyn)) string
strings.quote strings_quote (string) string
join list_join list(string).() string
join list_join_string list(string).(string) string
isSorted list_int_is_sorted_bool list(int).() bool
isSorted list_uint_is_sorted_bool list(uint).() bool
isSorted list_double_is_sorted_bool list(double).() bool
isSorted list_bool_is_sorted_bool list(bool).() bool
isSorted list_duration_is_sorted_bool list(duration).() bool
isSorted list_timestamp_is_sorted_bool list(timestamp).() bool
isSorted list_string_is_sorted_bool list(string).() bool
isSorted list_bytes_is_sorted_bool list(bytes).() bool
sum list_int_sum_int list(int).() int
sum list_uint_sum_uint list(uint).() uint
sum list_double_sum_double list(double).() double
sum list_duration_sum_duration list(duration).() duration
max list_int_max_int list(int).() int
max list_uint_max_uint list(uint).() uint
max list_double_max_double list(double).() double
max list_bool_max_bool list(bool).() bool
max list_duration_max_duration list(duration).() duration
max list_timestamp_max_timestamp list(timestamp).() timestamp
max list_string_max_string list(string).() string
max list_bytes_max_bytes list(bytes).() bytes
min list_int_min_int list(int).() int
min list_uint_min_uint list(uint).() uint
min list_double_min_double list(double).() double
min list_bool_min_bool list(bool).() bool
min list_duration_min_duration list(duration).() duration
min list_timestamp_min_timestamp list(timestamp).() timestamp
min list_string_min_string list(string).() string
min list_bytes_min_bytes list(bytes).() bytes
indexOf list_a_index_of_int list(A).(A) int
lastIndexOf list_a_last_index_of_int list(A).(A) int
find string_find_string string.(string) string
findAll string_find_all_string string.(string) list(string)
findAll string_find_all_string_int string.(string,int) list(string)
url string_to_url (string) URL
getScheme url_get_scheme URL.() string
getHost url_get_host URL.() string
getHostname url_get_hostname URL.() string
getPort url_get_port URL.() string
getEscapedPath url_get_escaped_path URL.() string
getQuery url_get_query URL.() map(string,list(string))
isURL is_url_string (string) bool
quantity string_to_quantity (string) Quantity
isQuantity is_quantity_string (string) bool
sign quantity_sign (Quantity) int
isGreaterThan quantity_is_greater_than Quantity.(Quantity) bool
isGreaterThan semver_is_greater_than Semver.(Semver) bool
isLessThan quantity_is_less_than Quantity.(Quantity) bool
isLessThan semver_is_less_than Semver.(Semver) bool
compareTo quantity_compare_to Quantity.(Quantity) int
compareTo semver_compare_to Semver.(Semver) int
asApproximateFloat quantity_get_float Quantity.() double
asInteger quantity_get_int Quantity.() int
isInteger quantity_is_integer Quantity.() bool
add quantity_add Quantity.(Quantity) Quantity
add quantity_add_int Quantity.(int) Quantity
sub quantity_sub Quantity.(Quantity) Quantity
sub quantity_sub_int Quantity.(int) Quantity
major semver_major Semver.() int
minor semver_minor Semver.() int
patch semver_patch Semver.() int
semver string_to_semver (string) Semver
semver string_bool_to_semver (string,bool) Semver
isSemver is_semver_string (string) bool
isSemver is_semver_string_bool (string,bool) bool
ip string_to_ip (string) IP
ip cidr_ip CIDR.() IP
isIP is_ip (string) bool
ip.isCanonical ip_is_canonical (string) bool
family ip_family IP.() int
isUnspecified ip_is_unspecified IP.() bool
isLoopback ip_is_loopback IP.() bool
isLinkLocalMulticast ip_is_link_local_multicast IP.() bool
isLinkLocalUnicast ip_is_link_local_unicast IP.() bool
isGlobalUnicast ip_is_global_unicast IP.() bool
cidr string_to_cidr (string) CIDR
isCIDR is_cidr (string) bool
containsIP cidr_contains_ip_string CIDR.(string) bool
containsIP cidr_contains_ip_ip CIDR.(IP) bool
containsCIDR cidr_contains_cidr_string CIDR.(string) bool
containsCIDR cidr_contains_cidr CIDR.(CIDR) bool
prefixLength cidr_prefix_length CIDR.() int
masked cidr_masked CIDR.() CIDR
sets.contains list_sets_contains_list (list(T),list(T)) bool
sets.equivalent list_sets_equivalent_list (list(T),list(T)) bool
sets.intersects list_sets_intersects_list (list(T),list(T)) bool
validate format-validate Format.(string) optional(list(string))
format.named format-named (string) optional(Format)
format.dns1123Label format.dns1123Label () Format
format.dns1123Subdomain format.dns1123Subdomain () Format
format.dns1035Label format.dns1035Label () Format
format.qualifiedName format.qualifiedName () Format
format.dns1123LabelPrefix format.dns1123LabelPrefix () Format
format.dns1123SubdomainPrefix format.dns1123SubdomainPrefix () Format
format.dns1035LabelPrefix format.dns1035LabelPrefix () Format
format.labelValue format.labelValue () Format
format.uri format.uri () Format
format.uuid format.uuid () Format
format.byte format.byte () Format
format.date format.date () Format
format.datetime format.datetime () Format
cel.@mapInsert @mapInsert_map_key_value (map(K,V),K,V) map(K,V)
cel.@mapInsert @mapInsert_map_map (map(K,V),map(K,V)) map(K,V)
slice list_slice list(T).(int,int) list(T)
flatten list_flatten list(list(T)).() list(T)
flatten list_flatten_int list(dyn).(int) list(dyn)
sort list_int_sort list(int).() list(int)
sort list_uint_sort list(uint).() list(uint)
sort list_double_sort list(double).() list(double)
sort list_bool_sort list(bool).() list(bool)
sort list_google.protobuf.Duration_sort list(duration).() list(duration)
sort list_google.protobuf.Timestamp_sort list(timestamp).() list(timestamp)
sort list_string_sort list(string).() list(string)
sort list_bytes_sort list(bytes).() list(bytes)
@sortByAssociatedKeys list_int_sortByAssociatedKeys list(T).(list(int)) list(T)
@sortByAssociatedKeys list_uint_sortByAssociatedKeys list(T).(list(uint)) list(T)
@sortByAssociatedKeys list_double_sortByAssociatedKeys list(T).(list(double)) list(T)
@sortByAssociatedKeys list_bool_sortByAssociatedKeys list(T).(list(bool)) list(T)
@sortByAssociatedKeys list_google.protobuf.Duration_sortByAssociatedKeys list(T).(list(duration)) list(T)
@sortByAssociatedKeys list_google.protobuf.Timestamp_sortByAssociatedKeys list(T).(list(timestamp)) list(T)
@sortByAssociatedKeys list_string_sortByAssociatedKeys list(T).(list(string)) list(T)
@sortByAssociatedKeys list_bytes_sortByAssociatedKeys list(T).(list(bytes)) list(T)
lists.range lists_range (int) list(int)
reverse list_reverse list(T).() list(T)
distinct list_distinct list(T).() list(T)
optional.of optional_of (V) optional(V)
optional.ofNonZeroValue optional_ofNonZeroValue (V) optional(V)
optional.none optional_none () optional(V)
value optional_value optional(V).() V
hasValue optional_hasValue optional(V).() bool
or optional_or_optional optional(V).(optional(V)) optional(V)
orValue optional_orValue_value optional(V).(V) V
last list_last list(V).() optional(V)
first list_first list(V).() optional(V)
optional.unwrap optional_unwrap (list(optional(V))) list(V)
unwrapOpt optional_unwrapOpt list(optional(V)).() list(V)
path authorizer_path Authorizer.(string) PathCheck
group authorizer_group Authorizer.(string) GroupCheck
serviceAccount authorizer_serviceaccount Authorizer.(string,string) Authorizer
resource groupcheck_resource GroupCheck.(string) ResourceCheck
subresource resourcecheck_subresource ResourceCheck.(string) ResourceCheck
namespace resourcecheck_namespace ResourceCheck.(string) ResourceCheck
name resourcecheck_name ResourceCheck.(string) ResourceCheck
fieldSelector authorizer_fieldselector ResourceCheck.(string) ResourceCheck
labelSelector authorizer_labelselector ResourceCheck.(string) ResourceCheck
check pathcheck_check PathCheck.(string) Decision
check resourcecheck_check ResourceCheck.(string) Decision
errored decision_errored Decision.() bool
error decision_error Decision.() string
allowed decision_allowed Decision.() bool
reason decision_reason Decision.() string
jsonpatch.escapeKey string_jsonpatch_escapeKey_string (string) string
";
