//! The facts about characters: kinds that matter to the search for mojibake, and single-byte code pages.
//!
//! Everything here is data. In a set of characters, `a-z` stands for a range.

/// A set of kinds of characters, one bit each.
pub(super) type Kinds = u32;

/// Turns up in any text, next to anything.
pub(super) const COMMON: Kinds = 1;
/// Control characters U+0080 to U+009F: nobody writes them any more.
pub(super) const C1: Kinds = 1 << 1;
/// Signs that hardly occur but in mojibake.
pub(super) const BAD: Kinds = 1 << 2;
/// Signs of legal texts.
pub(super) const LAW: Kinds = 1 << 3;
/// Money.
pub(super) const CURRENCY: Kinds = 1 << 4;
/// Punctuation before a word.
pub(super) const OPENING: Kinds = 1 << 5;
/// Punctuation after a word.
pub(super) const CLOSING: Kinds = 1 << 6;
/// Numbers and mathematics.
pub(super) const NUMERIC: Kinds = 1 << 7;
/// Letters that people draw faces with, so that odd neighbours prove nothing.
pub(super) const FACE: Kinds = 1 << 8;
/// Accented capitals.
pub(super) const UPPER: Kinds = 1 << 9;
/// Accented small letters.
pub(super) const LOWER: Kinds = 1 << 10;
/// Capitals of other alphabets.
pub(super) const UPPER_OTHER: Kinds = 1 << 11;
/// Small letters of other alphabets.
pub(super) const LOWER_OTHER: Kinds = 1 << 12;
/// Box drawing.
pub(super) const BOX: Kinds = 1 << 13;
/// `a` to `z`.
pub(super) const ASCII_LOWER: Kinds = 1 << 14;
/// `A` to `Z`.
pub(super) const ASCII_UPPER: Kinds = 1 << 15;
/// Neither of the two.
pub(super) const NOT_ASCII_LETTER: Kinds = 1 << 16;
/// White space as Python's regular expressions see it.
pub(super) const SPACE: Kinds = 1 << 17;
/// What Python's regular expressions take for part of a word.
pub(super) const WORD: Kinds = 1 << 18;
/// Everything but the line feed.
pub(super) const NOT_LINE_FEED: Kinds = 1 << 19;

/// The characters of the kinds that are lists.
pub(super) const LISTED: [(Kinds, &str); 14] = [
    (COMMON, "\u{a0}\u{ad}´·–—―’…"),
    (C1, "\u{80}-\u{9f}"),
    (BAD, "¤¦¨ª¬¯¸ºƒˆˇ˘˛˜†‡‰⌐◊�"),
    (LAW, "§¶"),
    (CURRENCY, "¢£¥₧€"),
    (OPENING, "¡©«¿΄΅‘‚“„•‹\u{f8ff}"),
    (CLOSING, "®»˝”›™"),
    (NUMERIC, "±²³µ¹¼½¾×÷⁄№∂∆∏∑√∞∩∫≈≠≡≤≥"),
    (FACE, "°Ò-ÖÙ-Üò-öø-üŌŐŪŲ"),
    (UPPER, "À-ÑØÜÝĀĂĄĆČĎĐĒĖĘĚĞĢĪİĶĹĻĽŁŃŅŇŒŘŚŞŠŢŤŮŰŸŹŻŽҐ"),
    (LOWER, "ß-ñüāăąćčďđēėęěğģīįķĺļľłœŕśşšťźżžґﬁﬂ"),
    (UPPER_OTHER, "ÞΆΈΉΊΌΎΏΑ-ΫЁ-Я"),
    (LOWER_OTHER, "ά-ωа-џ"),
    (BOX, "│┌┐┘├┤┬┼═-╬▀▄█▌▐-▓"),
];

/// Characters that may be the rest of a broken sequence but often stand for themselves beside one.
pub(super) const OFTEN_THEMSELVES: &str = " –—―‘’‚“”„•…";

/// A single-byte code page.
pub(super) struct CodePage {
    /// Bytes 80 to FF; `None` where they are the code points of the same number.
    upper_half: Option<&'static str>,
    /// Whether bytes that the standard leaves free are taken for the code points of the same number, and byte 1A for
    /// the replacement character: so programs decode that refuse nothing.
    pub(super) lenient: bool,
    /// Whether a space may stand for byte A0, which programs mistake for a no-break space.
    pub(super) restores_a0: bool,
    /// Whether its characters are taken for signs of broken UTF-8 in the midst of other text.
    pub(super) gives_clues: bool,
}

impl CodePage {
    const fn windows(upper_half: &'static str) -> Self {
        Self { upper_half: Some(upper_half), lenient: true, restores_a0: true, gives_clues: true }
    }

    const fn other(upper_half: &'static str, restores_a0: bool) -> Self {
        Self { upper_half: Some(upper_half), lenient: false, restores_a0, gives_clues: false }
    }

    /// The bytes from 80 on with their characters.
    pub(super) fn upper_half(&self) -> impl Iterator<Item = (u8, char)> {
        let same = self.upper_half.is_none().then_some('\u{80}'..='\u{ff}');
        (0x80..=0xff).zip(self.upper_half.unwrap_or_default().chars().chain(same.into_iter().flatten()))
    }
}

/// The number of code pages.
pub(super) const N_CODE_PAGES: usize = 10;

/// The place of Windows-1252 in [`CODE_PAGES`].
pub(super) const WINDOWS_1252: usize = 1;

/// The code pages in the order in which they are tried: Latin-1, Windows-1252, -1251, -1250, -1253, -1254, -1257,
/// ISO 8859-2, Mac Roman, code page 437.
pub(super) static CODE_PAGES: [CodePage; N_CODE_PAGES] = [
    CodePage { upper_half: None, lenient: false, restores_a0: true, gives_clues: true },
    CodePage::windows(
        "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ\u{a0}¡¢£¤¥¦§¨©ª«¬\u{ad}®¯°±²³´µ¶·¸¹º»¼½¾¿\
         ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõö÷øùúûüýþÿ",
    ),
    CodePage::windows(
        "ЂЃ‚ѓ„…†‡€‰Љ‹ЊЌЋЏђ‘’“”•–—\u{98}™љ›њќћџ\u{a0}ЎўЈ¤Ґ¦§Ё©Є«¬\u{ad}®Ї°±Ііґµ¶·ё№є»јЅѕї\
         АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯабвгдежзийклмнопрстуфхцчшщъыьэюя",
    ),
    CodePage::windows(
        "€\u{81}‚\u{83}„…†‡\u{88}‰Š‹ŚŤŽŹ\u{90}‘’“”•–—\u{98}™š›śťžź\u{a0}ˇ˘Ł¤Ą¦§¨©Ş«¬\u{ad}®Ż°±˛ł´µ¶·¸ąş»Ľ˝ľż\
         ŔÁÂĂÄĹĆÇČÉĘËĚÍÎĎĐŃŇÓÔŐÖ×ŘŮÚŰÜÝŢßŕáâăäĺćçčéęëěíîďđńňóôőö÷řůúűüýţ˙",
    ),
    CodePage::windows(
        "€\u{81}‚ƒ„…†‡\u{88}‰\u{8a}‹\u{8c}\u{8d}\u{8e}\u{8f}\u{90}‘’“”•–—\u{98}™\u{9a}›\u{9c}\u{9d}\u{9e}\u{9f}\
         \u{a0}΅Ά£¤¥¦§¨©ª«¬\u{ad}®―°±²³΄µ¶·ΈΉΊ»Ό½ΎΏΐΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡÒΣΤΥΦΧΨΩΪΫάέήίΰαβγδεζηθικλμνξοπρςστυφχψωϊϋόύώÿ",
    ),
    CodePage::windows(
        "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}\u{8e}\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}\u{9e}Ÿ\u{a0}¡¢£¤¥¦§¨©ª«¬\u{ad}®¯°±²³´µ¶·¸¹º»¼½¾¿\
         ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏĞÑÒÓÔÕÖ×ØÙÚÛÜİŞßàáâãäåæçèéêëìíîïğñòóôõö÷øùúûüışÿ",
    ),
    CodePage::windows(
        "€\u{81}‚\u{83}„…†‡\u{88}‰\u{8a}‹\u{8c}¨ˇ¸\u{90}‘’“”•–—\u{98}™\u{9a}›\u{9c}¯˛\u{9f}\u{a0}¡¢£¤¥¦§Ø©Ŗ«¬\u{ad}®Æ\
         °±²³´µ¶·ø¹ŗ»¼½¾æĄĮĀĆÄÅĘĒČÉŹĖĢĶĪĻŠŃŅÓŌÕÖ×ŲŁŚŪÜŻŽßąįāćäåęēčéźėģķīļšńņóōõö÷ųłśūüżž˙",
    ),
    CodePage::other(
        "\u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\u{8e}\u{8f}\
         \u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\u{9c}\u{9d}\u{9e}\u{9f}\
         \u{a0}Ą˘Ł¤ĽŚ§¨ŠŞŤŹ\u{ad}ŽŻ°ą˛ł´ľśˇ¸šşťź˝žżŔÁÂĂÄĹĆÇČÉĘËĚÍÎĎĐŃŇÓÔŐÖ×ŘŮÚŰÜÝŢßŕáâăäĺćçčéęëěíîďđńňóôőö÷řůúűüýţ˙",
        true,
    ),
    // Byte D0 is an en dash here: one before a space is too common to be taken for a broken sequence.
    CodePage::other(
        "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø\
         ¿¡¬√ƒ≈∆«»…\u{a0}ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\u{f8ff}ÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ",
        false,
    ),
    CodePage::other(
        "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
         └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}",
        true,
    ),
];

/// The characters of a set; `a-z` is a range.
pub(super) fn members(set: &str) -> impl Iterator<Item = char> {
    let mut chars = set.chars().peekable();
    std::iter::from_fn(move || {
        let first = chars.next()?;
        let last = if chars.next_if_eq(&'-').is_some() { chars.next()? } else { first };
        Some(first..=last)
    })
    .flatten()
}
