//! The files that AWS tools share: sections of `name = value`.

/// The settings of a section. Later ones of a name win; lines that are indented belong to a setting above and are
/// passed over.
pub(super) fn section<'a>(text: &'a str, name: &str) -> Option<Vec<(&'a str, &'a str)>> {
    let mut found: Option<Vec<(&str, &str)>> = None;
    let mut inside = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(title) = trimmed.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            inside = title.split_whitespace().eq(name.split_whitespace());
            if inside {
                found.get_or_insert_default();
            }
        } else if let (true, false, Some((key, value))) = (inside, line.starts_with([' ', '\t']), line.split_once('='))
        {
            found.get_or_insert_default().push((key.trim(), value.trim()));
        }
    }
    found
}

/// The setting's value.
pub(super) fn setting<'a>(section: &[(&'a str, &'a str)], name: &str) -> Option<&'a str> {
    section
        .iter()
        .rev()
        .find(|(known, value)| known.eq_ignore_ascii_case(name) && !value.is_empty())
        .map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# a comment
[default]
region = eu-west-1
s3 =
    addressing_style = path
region=eu-west-2

[profile  other]   ; as some editors write it
Region = us-east-1
";

    #[test]
    fn a_section_ends_where_the_next_begins() {
        let default = section(TEXT, "default").unwrap();
        assert_eq!(default, [("region", "eu-west-1"), ("s3", ""), ("region", "eu-west-2")]);
        assert_eq!(setting(&default, "region"), Some("eu-west-2"));
        assert_eq!(setting(&default, "addressing_style"), None);
        assert_eq!(setting(&section(TEXT, "profile other").unwrap(), "region"), Some("us-east-1"));
        assert_eq!(section(TEXT, "missing"), None);
    }
}
