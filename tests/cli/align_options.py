"""Options of ``isoglot align``; ``@`` stands for the folder that ``align_folder`` makes."""

QUICK = ("--set", "resamples=10", "--device", "cpu")
FILES = ("--parallel", "en=@/p.en", "--parallel", "fr=@/p.fr")
WORDS = ("--dictionary", "en-fr=@/train.txt", "--test", "en-fr=@/test.txt")
TEXTS = ("--text", "en=@/text.en", "--text", "fr=@/text.fr")
