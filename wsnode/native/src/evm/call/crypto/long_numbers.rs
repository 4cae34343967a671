//! Powers of numbers of such a length that one product takes seconds. After a cancellation a product ends
//! between two of its rows, with a meaningless result.

use super::should_continue;

/// Products of words between two checks for cancellation, a few milliseconds.
const PRODUCTS: usize = 1 << 22;

/// Number as 64-bit words, the lowest first. The highest word is not zero.
type Words = Vec<u64>;

/// Return `base` to the power of `exponent`, modulo `modulus`, in big-endian bytes; no bytes if the modulus
/// is zero.
pub fn power_of_long(base: &[u8], exponent: &[u8], modulus: &[u8]) -> Vec<u8> {
    let Some(divisor) = Divisor::new(words_of(modulus)) else {
        return Vec::new();
    };
    let base = divisor.remainder(words_of(base));
    let mut power = divisor.remainder(vec![1]);
    for bit in exponent.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)) {
        if !should_continue() {
            break;
        }
        power = divisor.remainder(product(&power, &power));
        if bit == 1 {
            power = divisor.remainder(product(&power, &base));
        }
    }
    bytes_of(&power)
}

/// Counter of products of words that checks for cancellation.
#[derive(Default)]
struct ProductCounter {
    products: usize,
}

impl ProductCounter {
    /// Return whether to compute a row of `length` products.
    fn next(&mut self, length: usize) -> bool {
        self.products += length;
        if self.products < PRODUCTS {
            return true;
        }
        self.products = 0;
        should_continue()
    }
}

/// Multiply two numbers (Knuth, The Art of Computer Programming, section 4.3.1, algorithm M).
fn product(one: &[u64], other: &[u64]) -> Words {
    let mut product = vec![0; one.len() + other.len()];
    let mut rows = ProductCounter::default();
    for (index, &factor) in one.iter().enumerate() {
        if !rows.next(other.len()) {
            break;
        }
        let mut carry = 0;
        for (word, &more) in product[index..].iter_mut().zip(other) {
            (*word, carry) =
                halves(u128::from(factor) * u128::from(more) + u128::from(*word) + u128::from(carry));
        }
        product[index + other.len()] = carry;
    }
    trimmed(product)
}

/// Divisor, shifted so that its highest bit is one.
struct Divisor {
    words: Words,
    shift: u32,
}

impl Divisor {
    /// Return the divisor, or None for zero.
    fn new(words: Words) -> Option<Self> {
        let shift = words.last()?.leading_zeros();
        Some(Self { words: shifted_left(words, shift), shift })
    }

    /// Return the remainder of `dividend` (Knuth, The Art of Computer Programming, section 4.3.1, algorithm
    /// D).
    fn remainder(&self, dividend: Words) -> Words {
        let size = self.words.len();
        let mut rest = dividend;
        rest.push(0);
        let mut rest = shifted_left(rest, self.shift);
        let mut rows = ProductCounter::default();
        for place in (0..rest.len().saturating_sub(size)).rev() {
            if !rows.next(size) {
                break;
            }
            let part = &mut rest[place..=place + size];
            let quotient = self.estimate(part);
            if self.subtract(part, quotient) {
                self.add_back(part);
            }
        }
        rest.truncate(size);
        trimmed(shifted_right(rest, self.shift))
    }

    /// Return the quotient of `part`, or one more.
    fn estimate(&self, part: &[u64]) -> u64 {
        let size = self.words.len();
        let (highest, next) =
            (self.words[size - 1], size.checked_sub(2).map_or(0, |index| self.words[index]));
        let third = size.checked_sub(2).map_or(0, |index| part[index]);
        let (highest, next) = (u128::from(highest), u128::from(next));
        let top = u128::from(part[size]) << 64 | u128::from(part[size - 1]);
        let mut quotient = (top / highest).min(u128::from(u64::MAX));
        let mut rest = top - quotient * highest;
        while rest >> 64 == 0 && quotient * next > (rest << 64 | u128::from(third)) {
            quotient -= 1;
            rest += highest;
        }
        halves(quotient).0
    }

    /// Subtract `quotient` times the divisor, and return whether the result was negative.
    fn subtract(&self, part: &mut [u64], quotient: u64) -> bool {
        let (mut carry, mut borrow) = (0, false);
        for (word, &more) in part.iter_mut().zip(&self.words) {
            let low;
            (low, carry) = halves(u128::from(quotient) * u128::from(more) + u128::from(carry));
            (*word, borrow) = difference(*word, low, borrow);
        }
        let highest = &mut part[self.words.len()];
        (*highest, borrow) = difference(*highest, carry, borrow);
        borrow
    }

    fn add_back(&self, part: &mut [u64]) {
        let mut carry = 0;
        for (word, &more) in part.iter_mut().zip(&self.words) {
            (*word, carry) = halves(u128::from(*word) + u128::from(more) + u128::from(carry));
        }
        let highest = &mut part[self.words.len()];
        *highest = highest.wrapping_add(carry);
    }
}

/// Return the low word and the high word of a number.
fn halves(number: u128) -> (u64, u64) {
    (number as u64, (number >> 64) as u64)
}

fn difference(one: u64, other: u64, borrow: bool) -> (u64, bool) {
    let (word, first) = one.overflowing_sub(other);
    let (word, second) = word.overflowing_sub(u64::from(borrow));
    (word, first || second)
}

/// Return the number times two to the power of `shift`. The shift is below 64 and does not lengthen the
/// number.
fn shifted_left(mut words: Words, shift: u32) -> Words {
    let mut carry = 0;
    for word in &mut words {
        let wide = u128::from(*word) << shift | carry;
        *word = halves(wide).0;
        carry = wide >> 64;
    }
    words
}

fn shifted_right(mut words: Words, shift: u32) -> Words {
    let mut above = 0;
    for word in words.iter_mut().rev() {
        let wide = (u128::from(above) << 64 | u128::from(*word)) >> shift;
        above = *word;
        *word = halves(wide).0;
    }
    words
}

fn trimmed(mut words: Words) -> Words {
    while words.last() == Some(&0) {
        words.pop();
    }
    words
}

/// Return the number that big-endian bytes hold.
fn words_of(bytes: &[u8]) -> Words {
    let word = |chunk: &[u8]| chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    trimmed(bytes.rchunks(8).map(word).collect())
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().rev().flat_map(|word| word.to_be_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::super::tests::watched;
    use super::*;

    /// Random words, or words that lead to wrong estimates of quotients.
    struct Source(u64);

    impl Source {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }

        fn word(&mut self) -> u64 {
            match self.next() % 6 {
                0 => 0,
                1 => u64::MAX,
                2 => 1 << 63,
                3 => 1,
                _ => self.next(),
            }
        }

        fn words(&mut self, most: u64) -> Words {
            let length = self.next() % (most + 1);
            trimmed((0..length).map(|_| self.word()).collect())
        }
    }

    fn number(words: &[u64]) -> BigUint {
        BigUint::from_bytes_be(&bytes_of(words))
    }

    #[test]
    fn products_and_remainders_are_right() {
        let mut source = Source(1);
        for _ in 0..20_000 {
            let (one, other) = (source.words(6), source.words(4));
            let whole = product(&one, &other);
            assert_eq!(number(&whole), number(&one) * number(&other), "{one:x?} {other:x?}");
            let Some(divisor) = Divisor::new(other.clone()) else { continue };
            let rest = number(&divisor.remainder(one.clone()));
            assert_eq!(rest, number(&one) % number(&other), "{one:x?} {other:x?}");
        }
    }

    #[test]
    fn powers_are_right() {
        let mut source = Source(2);
        for _ in 0..500 {
            let (base, exponent, modulus) = (source.words(5), source.words(2), source.words(4));
            let found = power_of_long(&bytes_of(&base), &bytes_of(&exponent), &bytes_of(&modulus));
            if modulus.is_empty() {
                assert!(found.is_empty());
                continue;
            }
            let expected = number(&base).modpow(&number(&exponent), &number(&modulus));
            assert_eq!(BigUint::from_bytes_be(&found), expected, "{base:x?} {exponent:x?} {modulus:x?}");
        }
    }

    /// Check computations of an hour each.
    #[test]
    fn a_product_and_a_division_end_once_nobody_waits() {
        watched(true, || {
            let long = vec![u64::MAX; 2_000_000];
            product(&long, &long);
            let mut longer = vec![1; 2_000_000];
            longer.extend_from_slice(&long);
            Divisor::new(long).unwrap().remainder(longer);
        });
    }
}
